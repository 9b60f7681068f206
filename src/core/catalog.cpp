// SPDX-License-Identifier: Apache-2.0
#include "core/catalog.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "core/embedded_files.h"
#include "core/file.h"
#include "core/text.h"

namespace rooftile {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kJson = ".json";
constexpr std::array<std::string_view, 8> kFolders{"architectures", "families", "gpus",
                                                   "memory_types",  "models",   "predictors",
                                                   "stacks",        "systems"};

/// The embedded files of predictors, which have one name each.
std::vector<std::string_view> predictor_files() {
  std::vector<std::string_view> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name.starts_with("predictors/")) names.push_back(file.name);
  }
  return names;
}

/// Whether some command would read a JSON file of that relative name. GPUs and systems have their
/// id in the file, the others in its name.
bool is_read(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || !name.ends_with(kJson)) return false;
  const std::string_view folder = name.substr(0, slash);
  if (folder == "gpus" || folder == "systems") return true;
  if (folder == "predictors") {
    const auto known = predictor_files();
    return std::find(known.begin(), known.end(), name) != known.end();
  }
  return std::find(kFolders.begin(), kFolders.end(), folder) != kFolders.end() &&
         name.find('/', slash + 1) == std::string_view::npos;
}

/// Where a JSON file that nothing reads was probably meant to lie.
std::string place_hint(std::string_view name) {
  const std::string stem(name.substr(0, name.size() - kJson.size()));
  const std::size_t slash = std::min(stem.find('/'), stem.size());
  if (const auto folder = nearest(stem.substr(0, slash), kFolders); folder && slash < stem.size()) {
    for (const std::size_t rest : {slash, stem.rfind('/')}) {  // as it lies, or one level up
      const std::string meant = fmt::format("{}{}{}", *folder, stem.substr(rest), kJson);
      if (is_read(meant)) return fmt::format("did you mean \"{}\"?", printable(meant));
    }
    if (*folder == "predictors") {
      const std::string file = fs::path(name).filename().string();
      std::vector<std::string> meant;
      for (const std::string_view known : predictor_files()) {
        if (known.ends_with("/" + file)) meant.push_back(fmt::format("\"{}\"", known));
      }
      if (!meant.empty())
        return fmt::format("did you mean {}? --predictor FOLDER takes one of your own",
                           fmt::join(meant, " or "));
      return did_you_mean(name, predictor_files(), "files of predictors are");
    }
  }
  return fmt::format("the JSON files of a catalogue belong in {}/", fmt::join(kFolders, "/, "));
}

/// The files of an overlay. Links stand for what they point to.
class OverlayFolder {
 public:
  explicit OverlayFolder(const std::string& folder) : folder_(folder) {}

  /// Relative to the folder, in the order of their names.
  Result<std::vector<std::string>> files() {
    ROOFTILE_CHECK(enter(folder_, {}));
    return std::move(names_);
  }

 private:
  Status enter(const fs::path& folder, const std::string& prefix) {
    std::error_code failure;
    const fs::path real = fs::canonical(folder, failure);
    if (std::find(open_.begin(), open_.end(), real) != open_.end())
      return bad_input(folder.string(), "is a link to a folder that contains it",
                       "remove the link: following it never ends");
    std::vector<std::string> entries;
    fs::directory_iterator it(folder, failure);
    for (; !failure && it != fs::directory_iterator(); it.increment(failure)) {
      entries.push_back(it->path().filename().string());
    }
    if (failure) return unreadable(folder, failure);
    std::sort(entries.begin(), entries.end());
    open_.push_back(real);
    for (const std::string& entry : entries) ROOFTILE_CHECK(add(folder / entry, prefix + entry));
    open_.pop_back();
    return {};
  }

  Status add(const fs::path& path, const std::string& name) {
    constexpr std::size_t kMostFiles = 100000;
    if (++count_ > kMostFiles)
      return bad_input(folder_, fmt::format("holds more than {} files", kMostFiles));
    std::error_code failure;
    const fs::file_type type = fs::status(path, failure).type();
    if (type == fs::file_type::regular) return take(path, name);
    if (path.filename().string().starts_with('.')) return {};  // .git, an editor's lock
    switch (type) {
      case fs::file_type::directory: return enter(path, name + "/");
      case fs::file_type::none: return unreadable(path, failure);
      case fs::file_type::not_found:
        return bad_input(path.string(),
                         fmt::format("is a link to \"{}\", which does not exist",
                                     printable(fs::read_symlink(path, failure).string())),
                         "point it to a file or folder, or remove it");
      default:
        return bad_input(path.string(), "is not a file or folder (a device, pipe or socket)",
                         "an overlay holds files, folders and links to them");
    }
  }

  Status take(const fs::path& path, const std::string& name) {
    if (to_lower(name).ends_with(kJson) && !is_read(name))
      return bad_input(path.string(), "no command reads a file of this name", place_hint(name));
    names_.push_back(name);
    return {};
  }

  static tl::unexpected<Error> unreadable(const fs::path& path, const std::error_code& failure) {
    return bad_input(path.string(), fmt::format("cannot be read: {}", failure.message()));
  }

  std::string folder_;
  std::vector<fs::path> open_;  ///< real paths of the folders around the current place
  std::vector<std::string> names_;
  std::size_t count_ = 0;
};

}  // namespace

Catalog Catalog::embedded() {
  Catalog catalog;
  for (const EmbeddedFile& file : embedded_files()) {
    catalog.insert(std::string(file.name),
                   {.path = {}, .embedded = file.content, .owned = {}, .replaces = {}, .layer = 0});
  }
  return catalog;
}

Result<Catalog> Catalog::standard() {
  Catalog catalog = embedded();
  if (const char* folders = std::getenv("ROOFTILE_CATALOG"); folders != nullptr) {
    for (const std::string_view folder : split(folders, ':')) {
      if (!folder.empty()) ROOFTILE_CHECK(catalog.overlay(std::string(folder)));
    }
  }
  return catalog;
}

Status Catalog::overlay(const std::string& folder) {
  std::error_code failure;
  if (!fs::is_directory(folder, failure)) {
    return bad_input(folder, "is not a folder",
                     "ROOFTILE_CATALOG and --catalog name folders with gpus/, models/, ...");
  }
  ROOFTILE_TRY(const std::vector<std::string> names, OverlayFolder(folder).files());
  overlays_.push_back(folder);
  for (const std::string& name : names) {
    insert(name, {.path = (fs::path(folder) / name).string(),
                  .embedded = {},
                  .owned = {},
                  .replaces = {},
                  .layer = top_layer()});
  }
  return {};
}

void Catalog::add(std::string relative_name, std::string content) {
  insert(std::move(relative_name), {.path = {},
                                    .embedded = {},
                                    .owned = std::move(content),
                                    .replaces = {},
                                    .layer = top_layer()});
}

void Catalog::insert(std::string relative_name, Entry entry) {
  const auto before = entries_.find(relative_name);
  if (before != entries_.end() && before->second.layer < entry.layer) {
    const bool itself = !entry.path.empty() && before->second.path == entry.path;  // named twice
    entry.replaces = itself ? before->second.replaces : name_of(relative_name);
  }
  entries_.insert_or_assign(std::move(relative_name), std::move(entry));
}

std::vector<std::string> Catalog::list(std::string_view prefix) const {
  std::vector<std::string> names;
  for (auto it = entries_.lower_bound(prefix);
       it != entries_.end() && it->first.starts_with(prefix); ++it) {
    names.push_back(it->first);
  }
  return names;
}

bool Catalog::contains(std::string_view relative_name) const {
  return entries_.find(relative_name) != entries_.end();
}

int Catalog::layer(std::string_view relative_name) const {
  const auto it = entries_.find(relative_name);
  return it == entries_.end() ? 0 : it->second.layer;
}

std::string Catalog::name_of(std::string_view relative_name) const {
  const auto it = entries_.find(relative_name);
  if (it == entries_.end() || it->second.path.empty()) {
    return fmt::format("catalog:{}", relative_name);
  }
  return it->second.path;
}

Result<Catalog::File> Catalog::read(std::string_view relative_name) const {
  const auto it = entries_.find(relative_name);
  if (it == entries_.end()) return bad_input(name_of(relative_name), "no such file");
  const Entry& entry = it->second;
  File file{.name = name_of(relative_name),
            .content = {},
            .replaces = entry.replaces,
            .origin = entry.layer == 0 ? Origin::Embedded : Origin::Overlay};
  if (entry.path.empty()) {
    file.content = entry.owned.empty() ? std::string(entry.embedded) : entry.owned;
  } else {
    ROOFTILE_TRY(file.content, read_file(entry.path));
  }
  return file;
}

namespace {

/// What a pipe or standard input gave. It gives its bytes once, but a command asks for a model or a
/// GPU as often as it needs it.
struct PipeContent {
  dev_t device;
  ino_t number;
  std::string bytes;
};

bool has_more(const std::string& pipe) {
  const int descriptor = ::open(pipe.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  int bytes = 0;
  const bool more = ::ioctl(descriptor, FIONREAD, &bytes) == 0 && bytes > 0;
  ::close(descriptor);
  return more;
}

/// A whole file, or what a pipe gave last.
Result<std::string> read_or_recall(const std::string& path, std::size_t max_bytes) {
  constexpr std::size_t kMostPipes = 16;
  static std::mutex lock;
  static std::deque<PipeContent> pipes;  // the latest first
  struct stat status{};
  const bool standard_input = path == "-";
  const int failed =
      standard_input ? ::fstat(STDIN_FILENO, &status) : ::stat(path.c_str(), &status);
  if (failed != 0 || (!standard_input && !S_ISFIFO(status.st_mode)))
    return read_file(path, max_bytes);
  const std::lock_guard locked(lock);
  const auto known = std::find_if(pipes.begin(), pipes.end(), [&](const PipeContent& pipe) {
    return pipe.device == status.st_dev && pipe.number == status.st_ino;
  });
  if (known != pipes.end() && known->bytes.size() <= max_bytes &&
      (standard_input || !has_more(path)))
    return known->bytes;
  if (known != pipes.end()) pipes.erase(known);
  ROOFTILE_TRY(std::string bytes, read_file(path, max_bytes));
  pipes.push_front({.device = status.st_dev, .number = status.st_ino, .bytes = bytes});
  if (pipes.size() > kMostPipes) pipes.pop_back();
  return bytes;
}

}  // namespace

Result<Catalog::File> Catalog::read_path(const std::string& path, std::size_t max_bytes) {
  File file{.name = path, .content = {}, .replaces = {}, .origin = Origin::File};
  ROOFTILE_TRY(file.content, read_or_recall(path, max_bytes));
  return file;
}

}  // namespace rooftile
