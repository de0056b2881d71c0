#include "common.h"

#include <dlfcn.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>
#include <utility>

namespace fake {
namespace {

struct Rule {
  std::string name;
  std::uint64_t nth;
  bool sticky;
};
struct Methods {
  std::mutex mutex;
  std::vector<Method*> all;
  std::vector<Rule> rules;
  std::atomic<bool> any{false};
};
Methods& methods() {
  static auto* instance = new Methods;
  return *instance;
}

bool matches(const std::string& rule, const char* name) {
  const char* dot = std::strchr(name, '.');
  return rule == name || (dot && rule == dot + 1);
}

// "enqueueV3:2[:sticky]" or "VExecutionContext.enqueueV3:2": the n-th call from now on fails, or that and all after it.
void addRule(const std::string& text) {
  std::istringstream in(text);
  std::string name, nth, mode;
  std::getline(in, name, ':');
  std::getline(in, nth, ':');
  std::getline(in, mode);
  std::lock_guard lock(methods().mutex);
  std::uint64_t already = 0;
  for (auto* each : methods().all)
    if (matches(name, each->name)) already = each->calls;
  methods().rules.push_back({name, already + std::strtoull(nth.c_str(), nullptr, 10), mode == "sticky"});
  methods().any = true;
}

void take(double& to, const std::string& value) { to = std::atof(value.c_str()); }
void take(int& to, const std::string& value) { to = std::atoi(value.c_str()); }
void take(std::string& to, const std::string& value) { to = value; }

#define SETTING(NAME, VARIABLE)                                                                  \
  {                                                                                              \
#NAME, VARIABLE, [](Library & l, const std::string& value) { take(l.settings.NAME, value); } \
  }
const struct {
  const char *key, *variable;
  void (*take)(Library&, const std::string&);
} settings[] = {SETTING(buildStepMs, "FAKE_TRT_BUILD_STEP_MS"),
                SETTING(buildSteps, "FAKE_TRT_BUILD_STEPS"),
                SETTING(device, "FAKE_TRT_DEVICE"),
                SETTING(timingMs, "FAKE_TRT_TIMING_MS"),
                SETTING(compileMs, "FAKE_TRT_COMPILE_MS"),
                SETTING(holdContexts, "FAKE_TRT_HOLD_CONTEXTS"),
                SETTING(builderStartMs, "FAKE_TRT_BUILDER_START_MS"),
                SETTING(builderResource, "FAKE_TRT_BUILDER_RESOURCE"),
                SETTING(refuses, "FAKE_TRT_REFUSES")};

bool set(const std::string& key, const std::string& value) {
  Library& l = library();
  if (key == "fail") {
    std::istringstream in(value);
    for (std::string rule; std::getline(in, rule, ',');) addRule(rule);
    return true;
  }
  std::lock_guard lock(l.mutex);
  if (key == "version") {  // "10.8" or "10.8.1"; for objects made from now on
    Version wanted{0, 0, 0};
    if (std::sscanf(value.c_str(), "%d.%d.%d", &wanted.major, &wanted.minor, &wanted.patch) < 2) return false;
    if (wanted.major != kMajor) return false;
    l.version = wanted;
    return true;
  }
  for (const auto& setting : settings)
    if (key == setting.key) return setting.take(l, value), true;
  return false;
}

void fromEnvironment() {
  if (const char* value = std::getenv("FAKE_TRT_VERSION")) set("version", value);
  if (const char* value = std::getenv("FAKE_TRT_FAIL")) set("fail", value);
  for (const auto& setting : settings)
    if (const char* value = std::getenv(setting.variable)) set(setting.key, value);
}
__attribute__((constructor)) void start() { fromEnvironment(); }

// Tables of older versions, by interface; and back, to name what was trapped.
struct Poses {
  std::mutex mutex;
  std::map<std::pair<std::string, int>, void**> tables;
  std::map<void**, const TableFacts*> facts;
};
Poses& poses() {
  static auto* instance = new Poses;
  return *instance;
}

template <int Index>
void* trapAt(void* self) {
  const TableFacts* facts = nullptr;
  {
    std::lock_guard lock(poses().mutex);
    facts = poses().facts[*static_cast<void***>(self)];
  }
  return trap(facts ? facts->name : "?", Index,
              facts && Index < facts->count ? facts->methods[Index] : "beyond the table");
}
template <int... Index>
constexpr auto trapTable(std::integer_sequence<int, Index...>) {
  return std::array<void* (*)(void*), sizeof...(Index)>{&trapAt<Index>...};
}
constexpr auto trapped = trapTable(std::make_integer_sequence<int, 128>());

}  // namespace

void* trap(char const* interface, int index, char const* name) noexcept {
  std::ostringstream text;
  text << interface << '[' << index << "] " << name;
  std::fprintf(stderr, "fake TensorRT: a call that nobody implements: %s\n", text.str().c_str());
  if (const char* mode = std::getenv("FAKE_TRT_TRAP"); mode && !std::strcmp(mode, "abort")) std::abort();
  std::lock_guard lock(library().mutex);
  library().traps.push_back(text.str());
  return nullptr;
}

void poseTable(const char* interface, void* object) {
  Version version;
  {
    std::lock_guard lock(library().mutex);
    version = library().version;
  }
  if (version.minor >= kMinor) return;
  std::lock_guard lock(poses().mutex);
  auto& table = poses().tables[{interface, version.minor}];
  if (!table) {
    const TableFacts* facts = nullptr;
    for (const auto& each : tables)
      if (!std::strcmp(each.name, interface)) facts = &each;
    if (!facts) return;
    void** const original = *static_cast<void***>(object);
    // Offset to top and type stand before the entries; what an older library lacks is a trap, as far as one can fall.
    table = new void*[2 + trapped.size()] + 2;
    table[-2] = original[-2], table[-1] = original[-1];
    for (int i = 0; i < static_cast<int>(trapped.size()); ++i) {
      const bool there = i < facts->count && facts->since[i] <= version.minor;
      table[i] = there ? original[i] : reinterpret_cast<void*>(trapped[static_cast<std::size_t>(i)]);
    }
    // 10.8 alone had addCumulative at 63: every later entry stood one further on.
    if (kMajor == 10 && version.minor == 8 && !std::strcmp(interface, "VNetworkDefinition")) {
      int last = 0;
      while (last + 1 < facts->count && facts->since[last + 1] <= 8) ++last;
      for (int i = last; i >= 63; --i) table[i + 1] = table[i];
      table[63] = reinterpret_cast<void*>(trapped[63]);
    }
    poses().facts[table] = facts;
  }
  *static_cast<void***>(object) = table;
}

Library& library() {
  static auto* instance = new Library;
  return *instance;
}

void misused(const char* what) {
  std::lock_guard lock(library().mutex);
  ++library().misuse[what];
}

bool knows(const char* enumeration, int value) {
  int minor;
  {
    std::lock_guard lock(library().mutex);
    minor = library().version.minor;
  }
  for (const auto& each : enumerators)
    if (!std::strcmp(each.enumeration, enumeration) && each.value == value && each.since <= minor) return true;
  return misused("unknownEnumerator"), false;
}

Method* method(const char* name) {
  std::lock_guard lock(methods().mutex);
  auto* made = new Method{name};
  methods().all.push_back(made);
  return made;
}

bool Method::enter() {
  const auto call = ++calls;
  if (!methods().any) return false;
  std::lock_guard lock(methods().mutex);
  for (const auto& rule : methods().rules)
    if (matches(rule.name, name) && (call == rule.nth || (rule.sticky && call > rule.nth))) return true;
  return false;
}

void log(ILogger* logger, Severity severity, const std::string& text) {
  if (logger) logger->log(severity, text.c_str());
}

// "…: Error Code 2: OutOfMemory (…)": the number is that of the recorder's ErrorCode, too. What a recorder hears is not
// logged.
void Journal::error(const std::string& text) const {
  IErrorRecorder* const to = *recorder;
  if (to == nullptr) return logError(logger, text);
  const auto at = text.find("Error Code ");
  to->reportError(static_cast<ErrorCode>(at == std::string::npos ? 1 : std::atoi(&text[at + 11])), text.c_str());
}

void Journal::setRecorder(IErrorRecorder* given) const {
  if (given && std::strcmp(given->getInterfaceInfo().kind, "IErrorRecorder")) misused("wrongInterface");
  if (given) given->incRefCount();
  if (IErrorRecorder* before = recorder->exchange(given)) before->decRefCount();
}

void wait(double milliseconds) {
  if (milliseconds > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds));
}

std::string shapeText(const Dims& dims) {
  std::string out = "[";
  for (int i = 0; i < dims.nbDims; ++i) out += (i ? "," : "") + std::to_string(dims.d[i]);
  return out + "]";
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  char code[8];
  for (const unsigned char c : text) {
    if (c == '"' || c == '\\')
      out += '\\', out += static_cast<char>(c);
    else if (c < ' ')
      std::snprintf(code, sizeof code, "\\u%04x", c), out += code;
    else
      out += static_cast<char>(c);
  }
  return out + "\"";
}

static void* openDriver() {
  const char* named = std::getenv("NODE_TENSORRT_LIBCUDA");
  if (named) return dlopen(named, RTLD_NOW | RTLD_LOCAL);
  Dl_info self{};
  dladdr(reinterpret_cast<void*>(&library), &self);
  std::string folder = self.dli_fname ? self.dli_fname : "";
  for (int up = 0; up < 2; ++up) folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/'));
  return dlopen((folder + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
}

const Driver* driver() {
  static const Driver* found = []() -> const Driver* {
    void* handle = openDriver();
    if (!handle) return nullptr;
    auto* d = new Driver{};
    const auto take = [&](auto& pointer, const char* name) {
      pointer = reinterpret_cast<std::decay_t<decltype(pointer)>>(dlsym(handle, name));
    };
    take(d->init, "cuInit");
    take(d->deviceCount, "cuDeviceGetCount");
    take(d->currentContext, "cuCtxGetCurrent");
    take(d->currentDevice, "cuCtxGetDevice");
    take(d->deviceAttribute, "cuDeviceGetAttribute");
    take(d->bytesToDevice, "fakeBytesToDevice");
    take(d->alloc, "cuMemAlloc_v2");
    take(d->free, "cuMemFree_v2");
    take(d->allocAsync, "cuMemAllocAsync");
    take(d->freeAsync, "cuMemFreeAsync");
    take(d->streamSynchronize, "cuStreamSynchronize");
    take(d->streamIsCapturing, "cuStreamIsCapturing");
    take(d->eventRecord, "cuEventRecord");
    take(d->enqueue, "fakeEnqueue");
    take(d->enqueueCaptured, "fakeEnqueueCaptured");
    take(d->allocationAt, "fakeAllocationAt");
    take(d->checkRange, "fakeCheckRange");
    take(d->blockMilliseconds, "fakeBlockMilliseconds");
    take(d->deviceError, "fakeDeviceError");
    return d->enqueue ? d : nullptr;
  }();
  return found;
}

bool haveDevice() {
  int devices = 0;
  return driver() && !driver()->init(0) && !driver()->deviceCount(&devices) && devices > 0;
}

bool haveContext() {
  void* context = nullptr;
  if (driver() && !driver()->currentContext(&context) && context) return true;
  misused("withoutCurrentContext");
  return false;
}

}  // namespace fake

using namespace fake;

FAKE_API int fakeSet(const char* key, const char* value) { return set(key, value); }

// Rules, counters and misuse as at the start; what is live stays.
FAKE_API void fakeReset() {
  {
    std::lock_guard lock(methods().mutex);
    methods().rules.clear();
    methods().any = false;
    for (auto* each : methods().all) each->calls = 0;
  }
  {
    std::lock_guard lock(library().mutex);
    library().misuse.clear();
    library().traps.clear();
    library().builds.clear();
    library().calibrations.clear();
    library().version = {};
    library().settings = {};
    library().timingHits = library().timingMisses = 0;
    library().compiles = library().withGraphs = 0;
  }
  fromEnvironment();
}

FAKE_API std::size_t fakeStatsJson(char* buffer, std::size_t size) {
  static const char* const kinds[kLiveKinds] = {"runtimes",
                                                "engines",
                                                "contexts",
                                                "hostMemories",
                                                "inspectors",
                                                "builders",
                                                "networks",
                                                "configs",
                                                "timingCaches",
                                                "parsers",
                                                "refitters",
                                                "parserRefitters",
                                                "serializationConfigs",
                                                "runtimeConfigs",
                                                "runtimeCaches"};
  std::ostringstream out;
  out << "{\"live\":{";
  for (int i = 0; i < kLiveKinds; ++i) out << (i ? "," : "") << '"' << kinds[i] << "\":" << library().live[i];
  {
    std::lock_guard lock(library().mutex);
    out << "},\"misuse\":{";
    const char* comma = "";
    for (const auto& [what, times] : library().misuse) out << comma << quoted(what) << ':' << times, comma = ",";
    out << "},\"traps\":[";
    comma = "";
    for (const auto& text : library().traps) out << comma << quoted(text), comma = ",";
    out << "],\"builds\":[";
    comma = "";
    for (const auto& text : library().builds) out << comma << text, comma = ",";
    out << "],\"calibrations\":[";
    comma = "";
    for (const auto& text : library().calibrations) out << comma << text, comma = ",";
  }
  out << "],\"timing\":{\"hits\":" << library().timingHits << ",\"misses\":" << library().timingMisses;
  out << "},\"jit\":{\"compiles\":" << library().compiles << ",\"withGraphs\":" << library().withGraphs;
  out << "},\"calls\":{";
  {
    std::map<std::string, std::uint64_t> calls;
    std::lock_guard lock(methods().mutex);
    for (auto* each : methods().all)
      if (each->calls) calls[each->name] += each->calls;
    const char* comma = "";
    for (const auto& [name, times] : calls) out << comma << quoted(name) << ':' << times, comma = ",";
  }
  out << "}}";
  const std::string text = out.str();
  if (buffer && size > text.size()) std::memcpy(buffer, text.c_str(), text.size() + 1);
  return text.size() + 1;
}
