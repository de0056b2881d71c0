#include "find.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "../base/error.h"
#include "../base/python.h"
#include "loader.h"

namespace nt::finding {
namespace {

namespace fs = std::filesystem;

// By preference where several are found at the same place.
constexpr const char* kSonames[] = {
    "libnvinfer.so.11",      "libnvinfer.so.10",          "libtensorrt_rtx.so.1",      "libnvinfer_lean.so.11",
    "libnvinfer_lean.so.10", "libnvinfer_dispatch.so.11", "libnvinfer_dispatch.so.10",
};

// The packages of NVIDIA and of Debian, the tar file's customary places, NGC containers.
constexpr const char* kFolders[] = {
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",         "/usr/local/tensorrt/lib",
    "/usr/local/TensorRT*/lib",  "/opt/tensorrt/lib",          "/opt/TensorRT*/lib", "/usr/local/cuda/lib64",
};

// libnvinfer.so, libnvinfer.so.10.15.1 and so on; not libnvinfer_plugin.so.10
bool isLibraryName(std::string_view file) {
  for (const std::string_view name :
       {"libnvinfer.so", "libnvinfer_lean.so", "libnvinfer_dispatch.so", "libtensorrt_rtx.so"}) {
    if (file.starts_with(name)) return file.find_first_not_of(".0123456789", name.size()) == file.npos;
  }
  return false;
}

// Every TensorRT library in a folder, in the order of kSonames; other names (libnvinfer.so.10.15.1, a bare .so) after.
std::vector<std::string> librariesIn(const fs::path& folder) {
  std::vector<std::string> paths;
  std::vector<fs::path> targets;
  const auto add = [&](const fs::path& path) {
    std::error_code failed;
    const fs::path target = fs::canonical(path, failed);
    if (failed || !fs::is_regular_file(target, failed) || std::ranges::find(targets, target) != targets.end()) return;
    targets.push_back(target);
    paths.push_back(path.string());
  };
  for (const char* soname : kSonames) add(folder / soname);
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (isLibraryName(entry.path().filename().string())) add(entry.path());
  }
  return paths;
}

std::vector<Found> explicitly(const std::string& path) {
  std::error_code failed;
  if (fs::is_regular_file(path, failed)) return {{path, "option"}};
  std::vector<Found> found;
  for (const std::string& library : librariesIn(path)) found.push_back({library, "option"});
  if (found.empty()) {
    const bool exists = fs::exists(path, failed);
    throw Error("ERR_TRT_NO_LIBRARY",
                exists ? "The folder " + path +
                             " holds no TensorRT library (libnvinfer.so.10, libnvinfer.so.11, libtensorrt_rtx.so.1 …)"
                       : "There is no TensorRT library at " + path + ": no such file or folder",
                {{"path", path}});
  }
  return found;
}

// The file that the loader finds, loaded to find out: for systems whose loader keeps no cache that can be read.
std::string loadByName(const char* soname) {
  for (const int mode : {RTLD_NOLOAD, 0}) {
    void* handle = dlopen(soname, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE | mode);
    link_map* map = nullptr;
    if (handle != nullptr && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) return map->l_name;
  }
  return {};
}

// What the loader has: that which is mapped already, so that a process stays with one, then what it would find.
std::vector<std::string> loaders() {
  std::vector<std::string> paths = mappedLibraries(isLibraryName);
  for (const char* soname : kSonames) {
    const std::optional<std::string> located = locateByName(soname);
    if (std::string path = located ? *located : loadByName(soname); !path.empty()) paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace

std::vector<Found> findLibraries(const std::string& explicitPath) {
  if (!explicitPath.empty()) return explicitly(explicitPath);
  std::vector<Found> found;
  std::vector<std::string> files;
  const auto add = [&](const std::vector<std::string>& paths, const char* by) {
    for (const std::string& path : paths) {
      std::error_code failed;
      const std::string file = fs::canonical(path, failed).string();
      if (failed || std::ranges::find(files, file) != files.end()) continue;
      files.push_back(file);
      found.push_back({path, by});
    }
  };
  add(loaders(), "loader");
  for (const char* pattern : kFolders) {
    for (const std::string& folder : globbed(pattern)) add(librariesIn(folder), "folder");
  }
  for (const std::string& folder :
       globbedInSitePackages({"tensorrt_libs", "tensorrt_rtx_libs", "tensorrt_lean_libs", "tensorrt_dispatch_libs"})) {
    add(librariesIn(folder), "python");
  }
  return found;
}

}  // namespace nt::finding
