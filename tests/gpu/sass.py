# SPDX-License-Identifier: Apache-2.0
"""The few facts about NVIDIA's machine code (compute capability 7.0 and newer) that counting the
instructions of a loop needs: an instruction has 16 bytes, its low 12 bits are the opcode (of which 9
name the operation, 3 the form of its operands), and a branch holds the distance to its target."""

import struct


class Elf:
    """Sections of a 64-bit little-endian ELF file by name."""

    def __init__(self, data):
        if data[:5] != b"\x7fELF\x02":
            raise ValueError("this is not a 64-bit ELF file")
        offset, = struct.unpack_from("<Q", data, 0x28)
        size, count, names = struct.unpack_from("<HHH", data, 0x3A)
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
        texts = data[headers[names][4]:headers[names][4] + headers[names][5]]
        self.sections = {}
        for name, kind, _, _, at, length, *_ in headers:
            text = texts[name:texts.index(b"\0", name)].decode()
            if kind != 8:  # NOBITS
                self.sections[text] = data[at:at + length]


# Operation (low 9 bits of the opcode) -> what it is called here. Found by compiling one instruction at
# a time with ptxas 13.0 and looking at what changed; the test fails when a loop has another number.
BRANCH = 0x147


class Kernel:
    """Instructions of one kernel as (opcode, 128-bit word)."""

    def __init__(self, code):
        words = [int.from_bytes(code[i:i + 16], "little") for i in range(0, len(code), 16)]
        self.words = words
        self.opcodes = [w & 0xFFF for w in words]
        self.split = self._is_split()

    def _distance(self, word):
        """From the end of the branch to its target, in units of four bytes."""
        value = word >> 34 & ((1 << 48) - 1)
        value -= 1 << 48 if value >> 47 else 0
        return value << 8 | word >> 16 & 0xFF if self.split else value

    def _is_split(self):
        """Since compute capability 9.0 eight bits of the distance are apart. Every kernel ends with a
        branch to itself, which tells: its distance is one instruction back."""
        self.split = False
        for word in reversed(self.words):
            if word & 0x1FF == BRANCH:
                return self._distance(word) != -4
        return False

    def loops(self):
        """(first, last) instruction of every loop: from the target of a backward branch to it."""
        out = []
        for i, word in enumerate(self.words):
            if word & 0x1FF != BRANCH:
                continue
            target = i + 1 + self._distance(word) // 4
            if 0 <= target < i:
                out.append((target, i))
        return sorted(out)


def kernels(data):
    sections = Elf(data).sections
    return {name[6:]: Kernel(code) for name, code in sections.items() if name.startswith(".text.")}
