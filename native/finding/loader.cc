#include "loader.h"

#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "../base/error.h"
#include "../base/file.h"
#include "elf.h"

namespace nt::finding {
namespace {

namespace fs = std::filesystem;

// What ldconfig writes since glibc 2.2; up to 2.31 an older table may stand before it. See sysdeps/generic/dl-cache.h.
constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
struct CacheHeader {
  char magic[20];
  uint32_t entries;
  uint32_t textSize;
  uint32_t rest[5];
};
static_assert(sizeof(CacheHeader) == 48);
struct CacheEntry {
  int32_t flags;
  // places of the name and of the path, from the header on
  uint32_t name, path;
  uint32_t systemVersion;
  uint64_t hardware;
};
static_assert(sizeof(CacheEntry) == 24);

// Where the loader looks last.
constexpr const char* kSystemFolders[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};

std::optional<std::vector<uint8_t>> loaderCache() {
  try {
    std::vector<uint8_t> cache = readFileIfThere("/etc/ld.so.cache");
    if (!cache.empty()) return cache;
  } catch (const Error&) {
    // it cannot be read
  }
  return std::nullopt;
}

// The text that ends within `cache`, or nothing.
std::optional<std::string_view> textAt(std::string_view cache, std::size_t at) {
  if (at >= cache.size()) return std::nullopt;
  const auto end = cache.find('\0', at);
  if (end == cache.npos) return std::nullopt;
  return cache.substr(at, end - at);
}

bool loads(const std::string& path) {
  try {
    const ElfFile file(path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::vector<std::string> mappedLibraries(bool (*isWanted)(std::string_view file)) {
  struct Search {
    bool (*isWanted)(std::string_view file);
    std::vector<std::string> paths;
  } search{isWanted, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* given) {
        auto& found = *static_cast<Search*>(given);
        const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
        if (found.isWanted(path.substr(path.rfind('/') + 1))) found.paths.emplace_back(path);
        return 0;
      },
      &search);
  return search.paths;
}

std::vector<std::string> libraryPath() {
  std::vector<std::string> folders;
  const char* variable = std::getenv("LD_LIBRARY_PATH");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const auto end = rest.find_first_of(":;");
    if (end != 0) folders.emplace_back(rest.substr(0, end));
    rest = end == rest.npos ? "" : rest.substr(end + 1);
  }
  return folders;
}

std::optional<std::vector<std::string>> inLoaderCache(const std::vector<uint8_t>& bytes, std::string_view name) {
  std::string_view cache(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto start = cache.find(kMagic);
  if (start == cache.npos) return std::nullopt;
  cache.remove_prefix(start);
  CacheHeader header{};
  if (cache.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, cache.data(), sizeof header);
  if (header.entries > (cache.size() - sizeof header) / sizeof(CacheEntry)) return std::nullopt;
  std::vector<std::string> paths;
  for (uint32_t i = 0; i < header.entries; ++i) {
    CacheEntry entry{};
    std::memcpy(&entry, cache.data() + sizeof header + i * sizeof entry, sizeof entry);
    if (textAt(cache, entry.name) != name) continue;
    if (const auto path = textAt(cache, entry.path)) paths.emplace_back(*path);
  }
  return paths;
}

std::optional<std::string> locateByName(const std::string& name) {
  std::vector<std::string> places;
  for (const std::string& folder : libraryPath()) places.push_back(folder + "/" + name);
  const auto cache = loaderCache();
  const auto cached = cache ? inLoaderCache(*cache, name) : std::nullopt;
  if (cached) places.insert(places.end(), cached->begin(), cached->end());
  for (const char* folder : kSystemFolders) places.push_back(folder + ("/" + name));
  const auto found = std::ranges::find_if(places, loads);
  if (found != places.end()) return *found;
  return cached ? std::optional<std::string>("") : std::nullopt;
}

}  // namespace nt::finding
