// What is known of a library before it is loaded: files that are what they say, files that are cut, and files that lie.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>

#include "../../../native/finding/elf.h"
#include "../../../native/finding/identify.h"
#include "../../../native/finding/loader.h"
#include "../support/rig.h"
#include "../support/test.h"
#include "fakes.h"

namespace {

namespace fs = std::filesystem;
using namespace nt;

// A folder that is gone with its owner.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("finding-" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

std::vector<char> contentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string written(const fs::path& path, const std::vector<char>& content) {
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
  return path.string();
}

// What identify() makes of a file: its name, or its code.
std::string outcomeOf(const std::string& path) {
  try {
    return finding::identify(path).name();
  } catch (const Error& error) {
    return error.code();
  }
}

std::vector<uint8_t> bytesOf(const std::string& text) { return {text.begin(), text.end()}; }

// An ld.so.cache with names and paths in turn.
std::vector<uint8_t> cacheOf(const std::vector<std::string>& texts) {
  std::string cache = "glibc-ld.so.cache1.1";
  const auto add32 = [&](uint32_t number) { cache.append(reinterpret_cast<const char*>(&number), 4); };
  add32(static_cast<uint32_t>(texts.size() / 2));
  cache.append(24, '\0');
  std::string pool;
  const std::size_t start = 48 + texts.size() / 2 * 24;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i % 2 == 0) add32(0x0303);
    add32(static_cast<uint32_t>(start + pool.size()));
    if (i % 2 == 1) cache.append(12, '\0');
    pool += texts[i] + '\0';
  }
  return bytesOf(cache + pool);
}

}  // namespace

TEST("finding: a library tells what it is, and is not loaded for that") {
  const Folder folder;
  const std::string major = fakes::library().substr(fakes::library().rfind('.') + 1);
  const std::vector<char> content = contentOf(fakes::library());
  const auto named = [&](const std::string& name) { return finding::identify(written(folder.path / name, content)); };
  const finding::Identity bare = named("libnvinfer.so." + major);
  // the fake's version is a variable
  CHECK(!bare.version);
  CHECK_EQ(std::to_string(bare.major), major);
  CHECK(bare.hasBuilder);
  CHECK(bare.kind == tensorrt::Kind::full);
  CHECK_EQ(named("libnvinfer.so." + major + ".3.7").name(), "TensorRT " + major + ".3.7");
  CHECK(named("libnvinfer_lean.so." + major).kind == tensorrt::Kind::lean);
  // a name that the library contradicts
  CHECK(!named("libnvinfer.so.12.3.7").version);
  CHECK(tensorrt::Library::opened((folder.path / ("libnvinfer.so." + major)).string()) == nullptr);
  const std::string mapped = folder.path.string();
  for (const std::string& path : finding::mappedLibraries([](std::string_view) { return true; }))
    CHECK(!path.starts_with(mapped));
}

TEST("finding: what a function returns, read from its code") {
#if defined(__x86_64__)
  CHECK_EQ(finding::constantOf({0xb8, 0xcd, 0x29, 0, 0, 0xc3}).value_or(-1), 10701);
  CHECK_EQ(finding::constantOf({0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 0x40, 0xaf, 1, 0, 0xc3, 0x90}).value_or(-1), 110400);
  CHECK(!finding::constantOf({0x8b, 0x05, 0, 0, 0, 0, 0xc3}));
  CHECK(!finding::constantOf({0xb8, 0xcd, 0x29, 0, 0, 0x90, 0xc3}));
  CHECK(!finding::constantOf({0xb8, 0xcd, 0x29}));
#else
  // movz w0, 0xaf40; movk w0, 1, lsl 16; ret
  CHECK_EQ(finding::constantOf({0x00, 0xe8, 0x95, 0x52, 0x20, 0x00, 0xa0, 0x72, 0xc0, 0x03, 0x5f, 0xd6}).value_or(-1),
           110400);
  CHECK(!finding::constantOf({0x00, 0xe8, 0x95, 0x52}));
#endif
  CHECK(!finding::constantOf({}));
}

TEST("finding: the version in a file's name") {
  const auto text = [](const char* name) {
    const auto version = finding::versionOfName(name);
    return version ? version->text() : std::string("none");
  };
  CHECK_EQ(text("libnvinfer.so.10.15.1"), "10.15.1");
  CHECK_EQ(text("libnvinfer.so.10.15.1.29"), "10.15.1");
  CHECK_EQ(text("libnvinfer.so.10"), "none");
  CHECK_EQ(text("libnvinfer.so"), "none");
  CHECK_EQ(text("libnvinfer.so.10.x.1"), "none");
  CHECK_EQ(text("libnvinfer.so.99999999999999999999.1.1"), "none");
}

TEST("finding: a file that is cut anywhere is no library, and no crash") {
  const Folder folder;
  const std::string path = written(folder.path / "libnvinfer.so.10", contentOf(fakes::library()));
  const auto size = fs::file_size(path);
  std::mt19937 random(7);
  std::vector<std::uintmax_t> lengths;
  // most of what is read stands at the beginning
  for (int i = 0; i < 2000; ++i) lengths.push_back(i % 2 == 0 ? random() % 5000 : random() % size);
  std::ranges::sort(lengths, std::greater{});
  int refused = 0, mistaken = 0;
  for (const auto length : lengths) {
    fs::resize_file(path, length);
    const bool isRefused = outcomeOf(path) == "ERR_TRT_NO_LIBRARY";
    refused += isRefused;
    if (length < 5000) mistaken += isRefused ? 0 : 1;
  }
  // behind the last byte that the loader maps are only section headers and what debuggers want
  CHECK_EQ(mistaken, 0);
  CHECK(refused >= 1000);
}

TEST("finding: bytes that lie give an answer or an error, in a moment") {
  const Folder folder;
  const std::vector<char> whole = contentOf(fakes::library());
  const std::string path = written(folder.path / "libnvinfer.so.10", whole);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  std::mt19937 random(11);
  const auto put = [&](std::size_t at, char byte) {
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  };
  int answers = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    // headers, the hash table and the symbols stand in the first pages, the dynamic section far behind
    std::vector<std::size_t> places;
    for (int k = 0; k < 1 + i % 64; ++k) places.push_back(random() % (i % 4 != 0 ? 0x2000 : whole.size()));
    for (const std::size_t at : places) put(at, i % 3 == 0 ? '\xff' : static_cast<char>(random()));
    file.flush();
    const std::string outcome = outcomeOf(path);
    ++answers;
    refused += outcome == "ERR_TRT_NO_LIBRARY";
    for (const std::size_t at : places) put(at, whole[at]);
    file.flush();
  }
  CHECK_EQ(answers, 3000);
  CHECK(refused > 300 && refused < 3000);
  CHECK(outcomeOf(path) != "ERR_TRT_NO_LIBRARY");
}

TEST("finding: what is no library of TensorRT is said") {
  const Folder folder;
  CHECK_EQ(outcomeOf((folder.path / "nothing").string()), "ERR_TRT_NO_LIBRARY");
  CHECK_EQ(outcomeOf(folder.path.string()), "ERR_TRT_NO_LIBRARY");
  CHECK_EQ(outcomeOf(written(folder.path / "empty.so", {})), "ERR_TRT_NO_LIBRARY");
  CHECK_EQ(outcomeOf(std::getenv("NODE_TENSORRT_LIBCUDA")), "ERR_TRT_NO_LIBRARY");
  std::vector<char> other = contentOf(fakes::library());
  other[18] = 0x28;  // for 32-bit ARM
  CHECK_EQ(outcomeOf(written(folder.path / "other.so", other)), "ERR_TRT_NO_LIBRARY");
}

TEST("finding: the loader's cache") {
  const auto cache =
      cacheOf({"libone.so.1", "/a/libone.so.1", "libtwo.so", "/b/libtwo.so", "libone.so.1", "/c/libone.so.1"});
  using Paths = std::vector<std::string>;
  CHECK_EQ(finding::inLoaderCache(cache, "libone.so.1").value_or(Paths{"none"}),
           (Paths{"/a/libone.so.1", "/c/libone.so.1"}));
  CHECK_EQ(finding::inLoaderCache(cache, "libthree.so").value_or(Paths{"none"}), Paths{});
  CHECK(!finding::inLoaderCache(bytesOf("ld.so-1.7.0"), "libone.so.1"));
  CHECK(!finding::inLoaderCache({}, "libone.so.1"));
  auto many = cache;
  many[20] = 0xff, many[21] = 0xff;
  CHECK(!finding::inLoaderCache(many, "libone.so.1"));
  std::mt19937 random(3);
  for (int i = 0; i < 5000; ++i) {
    auto damaged = cache;
    for (int k = 0; k < 8; ++k) damaged[random() % damaged.size()] = static_cast<uint8_t>(random());
    damaged.resize(random() % (damaged.size() + 1));
    for (const std::string& path : finding::inLoaderCache(damaged, "libone.so.1").value_or(Paths{}))
      CHECK(path.size() < cache.size());
  }
}
