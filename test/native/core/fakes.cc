#include "fakes.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace fakes {
namespace {

struct Fake {
  int (*set)(const char*, const char*) = nullptr;
  void (*reset)() = nullptr;
  std::size_t (*stats)(char*, std::size_t) = nullptr;
};
struct State {
  std::string library;
  int version = 0;
  Fake driver, tensorrt;
};
State& state() {
  static auto& instance = *new State;
  return instance;
}

template <class F>
void take(void* handle, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(handle, name));
  if (function == nullptr) throw std::runtime_error(std::string("the fake has no ") + name);
}

void* openFake(const std::string& path, Fake& fake) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(dlerror());
  take(handle, "fakeSet", fake.set);
  take(handle, "fakeReset", fake.reset);
  take(handle, "fakeStatsJson", fake.stats);
  return handle;
}

std::string stats(const Fake& fake) {
  static thread_local char text[1 << 16];  // asked for some ten times in each run of faults.cc
  return {text, fake.stats(text, sizeof(text)) - 1};
}

// The numbers of one object of the fakes' own JSON, not those of objects within it.
Counts numbers(const std::string& json, const std::string& object) {
  std::size_t at = object.empty() ? 1 : json.find("\"" + object + "\":{") + object.size() + 4;
  Counts counts;
  while (at < json.size() && json[at] == '"') {
    const std::size_t end = json.find('"', at + 1);
    const std::string key = json.substr(at + 1, end - at - 1);
    if (json[end + 2] == '{') break;
    char* after = nullptr;
    counts[key] = static_cast<long long>(std::strtod(&json[end + 2], &after));
    at = static_cast<std::size_t>(after - json.data());
    if (json[at] != ',') break;
    ++at;
  }
  return counts;
}

}  // namespace

void open(const std::string& folder) {
  State& s = state();
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (file.rfind("libnvinfer.so.", 0) == 0 || file == "libtensorrt_rtx.so.1") s.library = entry.path().string();
  }
  if (s.library.empty()) throw std::runtime_error("no libnvinfer.so.N or libtensorrt_rtx.so.1 in " + folder);
  openFake(std::getenv("NODE_TENSORRT_LIBCUDA"), s.driver);
  void* handle = openFake(s.library, s.tensorrt);
  int (*version)() = nullptr;
  take(handle, "getInferLibVersion", version);
  s.version = version();
}

const std::string& library() { return state().library; }
bool isRtx() { return state().version < 20000; }

void driver(const std::string& key, const std::string& value) {
  if (state().driver.set(key.c_str(), value.c_str()) == 0)
    throw std::runtime_error("the fake driver does not know " + key);
}
void tensorrt(const std::string& key, const std::string& value) {
  if (state().tensorrt.set(key.c_str(), value.c_str()) == 0)
    throw std::runtime_error("the fake TensorRT does not know " + key);
}
void reset() {
  state().driver.reset();
  state().tensorrt.reset();
}

Counts driverCounts() { return numbers(stats(state().driver), ""); }
Counts driverCalls() { return numbers(stats(state().driver), "calls"); }
Counts tensorrtCalls() { return numbers(stats(state().tensorrt), "calls"); }
Counts jit() { return numbers(stats(state().tensorrt), "jit"); }
Counts liveObjects() { return numbers(stats(state().tensorrt), "live"); }
Counts misuse() {
  const std::string json = stats(state().tensorrt);
  Counts counts = numbers(json, "misuse");
  if (json.find("\"traps\":[]") == std::string::npos) counts["traps"] = 1;
  return counts;
}

std::string plan(const std::string& lines) {
  uint64_t hash = 14695981039346656037ull;
  for (const char c : lines) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  const uint64_t length = 32 + lines.size();
  std::string plan(32, '\0');
  std::memcpy(&plan[0], isRtx() ? "vtrt" : "ftrt", 4);
  std::memcpy(&plan[8], &hash, 8);
  std::memcpy(&plan[16], &length, 8);
  const int version = state().version;
  plan[24] = static_cast<char>(version / 10000);
  plan[25] = static_cast<char>(version / 100 % 100);
  plan[26] = static_cast<char>(version % 100);
  return plan + lines;
}

}  // namespace fakes
