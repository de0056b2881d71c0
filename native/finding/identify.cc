#include "identify.h"

#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "elf.h"
#include "loader.h"

namespace nt::finding {
namespace {

namespace fs = std::filesystem;
using tensorrt::Version;

// The numbers after ".so", as many as there are.
std::vector<int> numbersOf(std::string_view file) {
  std::vector<int> numbers;
  const auto start = file.rfind(".so.");
  if (start == file.npos) return numbers;
  std::string_view rest = file.substr(start + 3);
  while (rest.starts_with('.')) {
    int number = 0;
    const auto [end, failed] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), number);
    if (failed != std::errc() || number < 0) return {};
    numbers.push_back(number);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  }
  return rest.empty() ? numbers : std::vector<int>();
}

std::optional<Version> versionIn(const ElfFile& file, const std::string& name) {
  // in every release that was looked at it returns a constant
  if (const auto number = constantOf(file.code("getInferLibVersion", 16))) return Version::fromNumber(*number);
  return versionOfName(name);
}

Identity identityOf(const tensorrt::Library& library) {
  return {library.path(), library.kind(), library.version().major, library.version(), library.hasBuilder()};
}

}  // namespace

std::string Identity::name() const {
  if (version) return tensorrt::libraryName(kind, version->text());
  return tensorrt::libraryName(kind, major == 0 ? "of an unknown version" : std::to_string(major));
}

Identity identify(const std::string& path) {
  std::error_code failed;
  const fs::path resolved = fs::canonical(path, failed);
  Identity identity;
  identity.path = failed ? path : resolved.string();
  if (const auto* open = tensorrt::Library::opened(identity.path)) return identityOf(*open);
  const ElfFile file(identity.path);
  if (!file.exports("getInferLibVersion") || !file.exports("createInferRuntime_INTERNAL")) {
    throw Error("ERR_TRT_NO_LIBRARY",
                identity.path + " is no TensorRT library: it has no getInferLibVersion or createInferRuntime_INTERNAL",
                {{"path", path}});
  }
  identity.kind = tensorrt::kindOf(identity.path);
  identity.hasBuilder = file.exports("createInferBuilder_INTERNAL");
  const std::string name = fs::path(identity.path).filename().string();
  identity.version = versionIn(file, name);
  for (const std::string& each : {file.soname(), name}) {
    const std::vector<int> numbers = numbersOf(each);
    if (identity.major == 0 && !numbers.empty()) identity.major = numbers[0];
  }
  // two that contradict each other: neither is believed
  if (identity.version && identity.major != 0 && identity.version->major != identity.major) identity.version.reset();
  if (identity.version) {
    identity.major = identity.version->major;
    tensorrt::familyOf(identity.kind, *identity.version);
  }
  return identity;
}

Identity identifyWhole(const std::string& path) {
  Identity identity = identify(path);
  return identity.version ? identity : identityOf(tensorrt::Library::open(identity.path));
}

std::string parserOf(const Identity& library) {
  const std::string file = tensorrt::Library::parserFile(library.kind, library.major);
  std::error_code failed;
  const fs::path beside = fs::path(library.path).parent_path() / file;
  if (fs::is_regular_file(beside, failed)) return fs::canonical(beside, failed).string();
  const auto located = locateByName(file);
  if (!located) return tensorrt::Library::open(library.path).parser().path;
  if (!located->empty()) return fs::canonical(*located, failed).string();
  throw Error("ERR_TRT_NO_LIBRARY", "No ONNX parser was found for the " + library.name() + " at " + library.path +
                                        ": " + file + " is neither beside it nor where the loader looks");
}

std::optional<int> constantOf(const std::vector<uint8_t>& code) {
  std::array<uint32_t, 4> words{};
#if defined(__x86_64__)
  // [endbr64]; mov eax, number; ret
  constexpr uint8_t kLanding[] = {0xf3, 0x0f, 0x1e, 0xfa};
  const std::size_t start = code.size() >= 4 && std::memcmp(code.data(), kLanding, 4) == 0 ? 4 : 0;
  if (code.size() < start + 6 || code[start] != 0xb8 || code[start + 5] != 0xc3) return std::nullopt;
  std::memcpy(words.data(), code.data() + start + 1, 4);
  return static_cast<int>(words[0]);
#else
  // [bti c]; movz w0, low; [movk w0, high, lsl 16]; ret
  std::memcpy(words.data(), code.data(), std::min(code.size(), sizeof words));
  constexpr uint32_t kNumber = 0xffffU << 5;
  std::size_t next = words[0] == 0xd503245fU ? 1 : 0;
  if ((words[next] & ~kNumber) != 0x52800000U) return std::nullopt;
  uint32_t number = (words[next++] & kNumber) >> 5;
  if ((words[next] & ~kNumber) == 0x72a00000U) number |= (words[next++] & kNumber) >> 5 << 16;
  return words[next] == 0xd65f03c0U ? std::optional(static_cast<int>(number)) : std::nullopt;
#endif
}

std::optional<Version> versionOfName(std::string_view file) {
  const std::vector<int> numbers = numbersOf(file);
  if (numbers.size() < 3) return std::nullopt;
  return Version{numbers[0], numbers[1], numbers[2]};
}

}  // namespace nt::finding
