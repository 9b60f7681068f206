/* SPDX-License-Identifier: Apache-2.0 */
    .section .rodata
    .global rooftile_web_page
    .global rooftile_web_page_end
rooftile_web_page:
    .incbin ROOFTILE_WEB_PAGE
rooftile_web_page_end:
    .byte 0
    .section .note.GNU-stack,"",%progbits
