#include "abilities.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "loader.h"

namespace nt::finding {
namespace {

namespace fs = std::filesystem;

// The names that were seen: libnvinfer_builder_resource.so.10.6.0 for every architecture, up to 10.7; since then one
// for each, libnvinfer_builder_resource_sm86.so.10.15.1, and one called _ptx. (_win is for building on Linux for
// Windows.)
constexpr std::string_view kResource = "libnvinfer_builder_resource";

struct Resources {
  bool any = false, forAll = false, ptx = false;
  std::vector<int> architectures;
};

// TensorRT opens them by file name: with the loader's folders, and with the library's own, which is its RPATH.
std::vector<std::string> foldersOf(const Identity& library) {
  std::vector<std::string> folders = libraryPath();
  folders.push_back(fs::path(library.path).parent_path().string());
  return folders;
}

// "_sm86": 86
int architectureOf(std::string_view suffix) {
  constexpr std::string_view kArchitecture = "_sm";
  int number = 0;
  if (suffix.starts_with(kArchitecture))
    std::from_chars(suffix.data() + kArchitecture.size(), suffix.data() + suffix.size(), number);
  return number;
}

void note(std::string_view file, int major, Resources& resources) {
  if (!file.starts_with(kResource)) return;
  const auto end = file.find(".so." + std::to_string(major) + ".");
  if (end == file.npos) return;
  const std::string_view suffix = file.substr(kResource.size(), end - kResource.size());
  if (suffix == "_win") return;
  resources.any = true;
  resources.forAll |= suffix.empty();
  resources.ptx |= suffix == "_ptx";
  if (const int architecture = architectureOf(suffix); architecture != 0)
    resources.architectures.push_back(architecture);
}

Resources resourcesOf(const Identity& library) {
  Resources resources;
  for (const std::string& folder : foldersOf(library)) {
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(folder, failed))
      note(entry.path().filename().string(), library.major, resources);
  }
  return resources;
}

// Those of an architecture serve later ones of its generation: sm86 does 8.7, which has none. PTX was seen to serve no
// GPU from 7.5 to 13.0, and is for those that came after the release.
bool serve(const Resources& resources, const cuda::DeviceFacts& gpu) {
  const int architecture = gpu.computeMajor * 10 + gpu.computeMinor;
  constexpr int kNewest = 130;
  if (!resources.any || resources.forAll || (resources.ptx && architecture > kNewest)) return true;
  return std::ranges::any_of(resources.architectures,
                             [&](int each) { return each / 10 == gpu.computeMajor && each <= architecture; });
}

std::string nameOf(const cuda::DeviceFacts& gpu) {
  return gpu.name + " (compute capability " + gpu.computeCapability() + ")";
}

}  // namespace

std::string whyNotRun(const Identity& library, const cuda::DeviceFacts& gpu) {
  // seen of 1.7, which refuses plans there
  const std::string capability = gpu.computeCapability();
  if (library.kind != tensorrt::Kind::rtx || (capability != "7.5" && capability != "9.0")) return {};
  return library.name() + " runs no plans on the " + nameOf(gpu);
}

std::string whyNotBuild(const Identity& library, const cuda::DeviceFacts& gpu) {
  if (library.kind != tensorrt::Kind::full || serve(resourcesOf(library), gpu)) return {};
  return library.name() + " at " + library.path + " may not be able to build for the " + nameOf(gpu) +
         ": beside it lie builder resources (" + std::string(kResource) + "…), but none for that architecture";
}

}  // namespace nt::finding
