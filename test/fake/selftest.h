// What the files of the self-test share.
#pragma once
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "fakeabi.h"
#include "program.h"

using namespace nvinfer1;

extern int checks, failed;
#define CHECK(CONDITION)                                                              \
  do {                                                                                \
    ++checks;                                                                         \
    if (!(CONDITION)) ++failed, std::printf("not ok %d: %s\n", __LINE__, #CONDITION); \
  } while (0)

extern void* cudaLibrary;
template <typename... A>
int cu(const char* name, A... arguments) {
  auto* function = reinterpret_cast<int (*)(A...)>(dlsym(cudaLibrary, name));
  return function ? function(arguments...) : -1;
}
using Pointer = unsigned long long;
using Handle = std::uintptr_t;

inline double statOf(void* library, const std::string& key) {
  auto* read = reinterpret_cast<std::size_t (*)(char*, std::size_t)>(dlsym(library, "fakeStatsJson"));
  std::string text(1 << 20, '\0');
  read(text.data(), text.size());
  const auto at = text.find("\"" + key + "\":");
  return at == std::string::npos ? -1 : std::atof(text.c_str() + at + key.size() + 3);
}
inline double stat(const std::string& key) { return statOf(cudaLibrary, key); }
inline void set(const char* key, const char* value) {
  reinterpret_cast<int (*)(const char*, const char*)>(dlsym(cudaLibrary, "fakeSet"))(key, value);
}
inline void reset() { reinterpret_cast<void (*)()>(dlsym(cudaLibrary, "fakeReset"))(); }

using Clock = std::chrono::steady_clock;
inline double milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

struct Logger final : ILogger {
  std::string last;
  void log(Severity, AsciiChar const* text) noexcept { last = text; }
#if FAMILY == 11
  APILanguage getAPILanguage() noexcept { return APILanguage::kCPP; }
  InterfaceInfo getInterfaceInfo() noexcept { return {"ILogger", 1, 0}; }
#endif
};
extern Logger logger;

struct Allocator final : IOutputAllocator {
  Pointer memory = 0;
  std::uint64_t size = 0;
  Dims dims{};
  APILanguage getAPILanguage() noexcept { return APILanguage::kCPP; }
  InterfaceInfo getInterfaceInfo() noexcept { return {"IOutputAllocator", 1, 0}; }
  void* reallocateOutput(char const*, void*, std::uint64_t bytes, std::uint64_t) noexcept {
    if (memory) cu("cuMemFree_v2", memory);
    size = bytes;
    cu("cuMemAlloc_v2", &memory, static_cast<std::size_t>(bytes));
    return reinterpret_cast<void*>(memory);
  }
  void* reallocateOutputAsync(char const* name, void* now, std::uint64_t bytes, std::uint64_t alignment,
                              cudaStream_t) noexcept {
    return reallocateOutput(name, now, bytes, alignment);
  }
  void notifyShape(char const*, Dims const& d) noexcept { dims = d; }
};

inline fake::Program program(const std::string& text) {
  fake::Program out;
  const auto wrong = fake::parseProgram(text, &out);
  if (!wrong.empty()) std::printf("%s\n", wrong.c_str());
  return out;
}
inline std::string plan(const std::string& text) {
  return fake::wrapPlan(fake::printProgram(program(text)), FAMILY, FAMILY == 10 ? 15 : 4, FAMILY == 10 ? 1 : 0, 0);
}

constexpr int kVersion = FAMILY == 10 ? 101501 : 110400;
inline IRuntime* makeRuntime(void* library) {
  auto* create = reinterpret_cast<void* (*)(void*, int)>(dlsym(library, "createInferRuntime_INTERNAL"));
  return static_cast<IRuntime*>(create(&logger, kVersion));
}
inline void setOf(void* library, const char* key, const char* value) {
  CHECK(reinterpret_cast<int (*)(const char*, const char*)>(dlsym(library, "fakeSet"))(key, value) == 1);
}
inline void resetOf(void* library) { reinterpret_cast<void (*)()>(dlsym(library, "fakeReset"))(); }

// selftest_real.cc: what the real ones do where one would guess otherwise.
void testReal(void* library, const std::string& folder);
