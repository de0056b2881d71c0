// What every part of the fake TensorRT needs: counting and failing calls, posing as an older version, the log, the
// driver.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../teardown.h"
#include "fakeabi.h"

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace fake {

using namespace nvinfer1;

#if FAMILY == 10
inline constexpr int kMajor = 10, kMinor = 15, kPatch = 1;
#elif FAMILY == 11
inline constexpr int kMajor = 11, kMinor = 4, kPatch = 0;
#else  // TensorRT-RTX
inline constexpr int kMajor = 1, kMinor = 7, kPatch = 1;
#endif

struct Version {
  int major = kMajor, minor = kMinor, patch = kPatch;
  int number() const { return major * 10000 + minor * 100 + patch; }
};

enum Live {
  kRuntimes,
  kEngines,
  kContexts,
  kHostMemories,
  kInspectors,
  kBuilders,
  kNetworks,
  kConfigs,
  kTimingCaches,
  kParsers,
  kRefitters,
  kParserRefitters,
  kSerializationConfigs,
  kRuntimeConfigs,
  kRuntimeCaches,
  kLiveKinds
};

struct Method {
  const char* name;
  std::atomic<std::uint64_t> calls{0};
  bool enter();  // true: this call shall fail
};
Method* method(const char* name);

// What tests may say, by these names (`settings` in common.cc).
struct Settings {
  double buildStepMs = 0;
  int buildSteps = 3;
  std::string device = "sm_86";  // as timing caches see it
  double timingMs = 0;           // what it takes to measure one layer
  double compileMs = 0;          // what it takes to make a context
  int holdContexts = 0;          // or until this is 0 again, but no more than five seconds
  double builderStartMs = 0;     // and a builder, which cannot be interrupted
  std::string builderResource;   // "missing": it cannot build for this GPU
  std::string refuses;           // compute capabilities of GPUs, "7.5,9.0", on which no plan is deserialized
};

struct Library {
  std::mutex mutex;
  Version version;
  Settings settings;
  std::atomic<int> live[kLiveKinds]{};
  std::map<std::string, std::uint64_t> misuse;  // what an application must not do, by name
  std::vector<std::string> traps;
  std::vector<std::string> builds;        // JSON, one for each
  std::vector<std::string> calibrations;  // likewise, when they have ended
  std::atomic<std::uint64_t> timingHits{0}, timingMisses{0};
  // contexts for which was compiled what no runtime cache had, and that were made with TensorRT-RTX's own graphs
  std::atomic<std::uint64_t> compiles{0}, withGraphs{0};
};
Library& library();  // leaked on purpose
void misused(const char* what);

struct Counted {
  Live kind;
  explicit Counted(Live k) : kind(k) { ++library().live[k]; }
  Counted(const Counted&) = delete;
  ~Counted() { --library().live[kind]; }
};

// Whether the version that the library poses as has the enumerator; else that is misuse, which the real one may not
// even notice.
bool knows(const char* enumeration, int value);

void log(ILogger* logger, Severity severity, const std::string& text);
inline void logError(ILogger* logger, const std::string& text) { log(logger, Severity::kERROR, text); }
// The log or, where the application has set one, its error recorder.
struct Journal {
  ILogger* logger;
  std::shared_ptr<std::atomic<IErrorRecorder*>> recorder = std::make_shared<std::atomic<IErrorRecorder*>>(nullptr);
  void error(const std::string& text) const;
  void setRecorder(IErrorRecorder* given) const;
};
void wait(double milliseconds);
std::string shapeText(const Dims& dims);
std::string quoted(const std::string& text);  // as JSON

// What is used of the driver: found as the application finds it, or beside this library.
struct Driver {
  int (*init)(unsigned);
  int (*deviceCount)(int*);
  int (*currentContext)(void**);
  int (*currentDevice)(int*);
  int (*deviceAttribute)(int*, int attribute, int device);
  std::uint64_t (*bytesToDevice)();
  int (*alloc)(unsigned long long*, std::size_t);
  int (*free)(unsigned long long);
  int (*allocAsync)(unsigned long long*, std::size_t, void* stream);
  int (*freeAsync)(unsigned long long, void* stream);
  int (*streamSynchronize)(void*);
  int (*streamIsCapturing)(void*, int*);
  int (*eventRecord)(void*, void*);
  int (*enqueue)(void* stream, void (*run)(void*), void* data, void (*release)(void*), double milliseconds);
  // While a capture is under way: `launched` is called at each launch of the graph, by the thread that launches.
  int (*enqueueCaptured)(void* stream, void (*run)(void*), void (*launched)(void*), void* data, void (*release)(void*),
                         double milliseconds);
  int (*checkRange)(const void*, std::size_t);
  // Bytes from there to the end of the allocation, 0 for none; and the allocation's number, which no other ever gets.
  std::size_t (*allocationAt)(const void*, std::uint64_t* number);
  double (*blockMilliseconds)();
  int (*deviceError)();
};
const Driver* driver();  // null when there is none
bool haveDevice();
bool haveContext();

// Gives the object the table of the version that the library poses as.
void poseTable(const char* interface, void* object);

// The public half: {vptr, mImpl}; the table of the application's view owns the other half.
template <typename I>
struct Public : I {
  template <typename V>
  Public(V* implementation, const char* interface) {
    this->mImpl = implementation;
    poseTable(interface, implementation);
  }
  ~Public() { delete this->mImpl; }
};

template <typename I, typename V>
V* implementation(I* object) {
  return static_cast<V*>(object->mImpl);
}

}  // namespace fake

// First line of every method: counts it, and says whether it shall fail. Its thread is inside of the library.
#define METHOD(NAME)                                 \
  [[maybe_unused]] const fake::Inside inside_;       \
  static fake::Method* method_ = fake::method(NAME); \
  [[maybe_unused]] const bool fail_ = method_->enter()
