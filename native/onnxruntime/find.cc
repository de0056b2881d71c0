#include "find.h"

#include <link.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "../base/error.h"
#include "../base/python.h"

namespace nt::onnxruntime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSoname = "libonnxruntime.so.1";

// libonnxruntime.so, libonnxruntime.so.1.30.0 and so on; not libonnxruntime_providers_shared.so
bool isLibraryName(std::string_view file) {
  constexpr std::string_view name = "libonnxruntime.so";
  return file.starts_with(name) && file.find_first_not_of(".0123456789", name.size()) == file.npos;
}

// Best first: the soname, the bare name, then those with versions.
std::vector<std::string> librariesIn(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    std::error_code broken;
    if (isLibraryName(entry.path().filename().string()) && entry.is_regular_file(broken))
      names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names, {}, [](const std::string& name) { return std::pair(name != kSoname, name); });
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back((folder / name).string());
  return paths;
}

// Absolute: dlopen() looks for a name without a slash elsewhere.
std::vector<std::string> explicitly(const std::string& path) {
  std::error_code failed;
  const fs::path absolute = fs::absolute(path, failed);
  if (fs::is_regular_file(absolute, failed)) return {absolute.string()};
  std::vector<std::string> found = librariesIn(absolute);
  if (!found.empty()) return found;
  throw Error("ERR_TRT_NO_ONNXRUNTIME",
              fs::exists(absolute, failed)
                  ? "The folder " + path + " holds no onnxruntime (libonnxruntime.so.1, libonnxruntime.so …)"
                  : "There is no onnxruntime at " + path + ": no such file or folder",
              {{"path", path}});
}

// Of the same device and inode, so that links of either kind do not matter.
bool sameFile(const std::string& one, const std::string& other) {
  std::error_code failed;
  return one == other || fs::equivalent(one, other, failed);
}

}  // namespace

std::string mappedLibrary() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        const std::string_view file = info->dlpi_name == nullptr ? "" : info->dlpi_name;
        if (!isLibraryName(file.substr(file.rfind('/') + 1))) return 0;
        *static_cast<std::string*>(found) = file;
        return 1;
      },
      &path);
  return path;
}

std::vector<std::string> findLibraries(const Wanted& wanted) {
  if (!wanted.path.empty()) return explicitly(wanted.path);
  std::vector<std::string> found;
  if (!wanted.package.empty()) found = librariesIn(wanted.package);
  found.push_back(kSoname);
  for (std::string& path : globbedInSitePackages({"onnxruntime/capi/libonnxruntime.so*"}))
    found.push_back(std::move(path));
  return found;
}

std::string locateLibrary(const Wanted& wanted) {
  if (std::string mapped = mappedLibrary(); !mapped.empty()) return mapped;
  for (const std::string& path : findLibraries(wanted)) {
    std::error_code failed;
    if (fs::is_regular_file(path, failed)) return path;  // a bare name is the loader's matter
  }
  return {};
}

void requireSame(const Wanted& wanted, const std::string& loaded) {
  if (wanted.path.empty()) return;
  const std::vector<std::string> named = explicitly(wanted.path);
  if (std::ranges::any_of(named, [&](const std::string& path) { return sameFile(path, loaded); })) return;
  throw Error("ERR_TRT_NO_ONNXRUNTIME",
              "Expected the onnxruntime at " + wanted.path + ", but this process has loaded the one at " + loaded +
                  " before: a process has one onnxruntime",
              {{"path", wanted.path}, {"loaded", loaded}});
}

}  // namespace nt::onnxruntime
