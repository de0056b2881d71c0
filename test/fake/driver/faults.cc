// Counting calls and failing them on request; the control interface of the tests.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "driver.h"

namespace fake {
namespace {

struct Rule {
  std::string name;
  std::uint64_t nth;
  CUresult code;
  bool fromThenOn, lost;
};

struct Faults {
  std::mutex mutex;
  std::vector<Function*> functions;
  std::vector<Rule> rules;
  std::atomic<bool> any{false};
};
Faults& faults() {
  static auto* instance = new Faults;
  return *instance;
}

thread_local bool hostFunction = false;

// "cuMemAlloc_v2:3:2[:sticky|:lost]" - name, which call from now on, CUresult; sticky: that function fails from then
// on; lost: the whole device does.
bool addRule(const std::string& text) {
  std::istringstream in(text);
  std::string name, nth, code, mode;
  if (!std::getline(in, name, ':') || !std::getline(in, nth, ':') || !std::getline(in, code, ':')) return false;
  std::getline(in, mode);
  const std::uint64_t already = function(name.c_str())->calls;
  std::lock_guard lock(faults().mutex);
  faults().rules.push_back({name, already + std::strtoull(nth.c_str(), nullptr, 10), std::atoi(code.c_str()),
                            mode == "sticky", mode == "lost"});
  faults().any = true;
  return true;
}

void addRules(const std::string& text) {
  std::istringstream in(text);
  for (std::string rule; std::getline(in, rule, ',');) addRule(rule);
}

bool set(const std::string& key, const std::string& value) {
  State& s = state();
  if (key == "fail") return addRule(value);
  Lock lock(s.mutex);
  const double number = std::atof(value.c_str());
  if (key == "devices") {
    s.settings.devices = static_cast<int>(number);
  } else if (key == "copyMs") {
    s.settings.copyMs = number;
  } else if (key == "computeMs") {
    s.settings.computeMs = number;
  } else if (key == "blockMs") {
    s.settings.blockMs = number;
  } else if (key == "inline") {
    s.settings.inlineWhenIdle = number != 0;
  } else if (key == "holdFrees") {
    s.settings.holdFrees = number != 0;
    s.manual.notify_all();
  } else if (key == "memory") {
    s.settings.memory = static_cast<std::size_t>(number);
  } else if (key == "driverVersion") {
    s.settings.driverVersion = static_cast<int>(number);
  } else if (key == "deviceName") {
    s.settings.deviceName = value;
  } else if (key == "deviceNames") {
    s.settings.deviceNames = value;
  } else if (key == "computeCapability") {
    s.settings.computeCapability = value;
  } else if (key == "clock") {
    s.settings.clock = value == "manual" ? Clock::kManual : value == "virtual" ? Clock::kVirtual : Clock::kReal;
    s.manual.notify_all();
  } else if (key == "advance") {
    s.manualNow += number;
    s.manual.notify_all();
  } else if (key == "lost") {
    for (auto& device : s.devices) {
      device->error = static_cast<CUresult>(number);
      s.used.insert(device.get());
    }
  } else if (key == "failOperation") {  // "n:code": the n-th operation from now on breaks the device while it runs
    s.failOperation = std::atoll(value.c_str());
    const auto colon = value.find(':');
    s.failOperationCode = colon == std::string::npos ? 719 : std::atoi(value.c_str() + colon + 1);
  } else {
    return false;
  }
  return true;
}

void fromEnvironment() {
  static const struct {
    const char *variable, *key;
  } variables[] = {{"FAKE_CUDA_DEVICES", "devices"},
                   {"FAKE_CUDA_COPY_MS", "copyMs"},
                   {"FAKE_CUDA_COMPUTE_MS", "computeMs"},
                   {"FAKE_CUDA_BLOCK_MS", "blockMs"},
                   {"FAKE_CUDA_CLOCK", "clock"},
                   {"FAKE_CUDA_MEMORY", "memory"},
                   {"FAKE_CUDA_INLINE", "inline"},
                   {"FAKE_CUDA_DRIVER_VERSION", "driverVersion"},
                   {"FAKE_CUDA_DEVICE_NAME", "deviceName"},
                   {"FAKE_CUDA_DEVICE_NAMES", "deviceNames"},
                   {"FAKE_CUDA_COMPUTE_CAPABILITY", "computeCapability"}};
  for (const auto& [variable, key] : variables)
    if (const char* value = std::getenv(variable)) set(key, value);
  if (const char* rules = std::getenv("FAKE_CUDA_FAIL")) addRules(rules);
}
__attribute__((constructor)) void start() { fromEnvironment(); }

}  // namespace

State& state() {
  static auto* instance = new State;
  return *instance;
}

Handle newHandle() { return state().nextHandle += 16; }

bool inHostFunction() { return hostFunction; }
void setInHostFunction(bool value) { hostFunction = value; }

Function* function(const char* name) {
  std::lock_guard lock(faults().mutex);
  for (auto* known : faults().functions)
    if (!std::strcmp(known->name, name)) return known;
  auto* made = new Function{strdup(name)};
  faults().functions.push_back(made);
  return made;
}

CUresult Function::enter() {
  const std::uint64_t call = ++calls;
  if (hostFunction && std::strncmp(name, "cuGet", 5)) return kNotPermitted;
  if (!faults().any) return kOk;
  bool lost = false;
  CUresult code = kOk;
  {
    std::lock_guard lock(faults().mutex);
    for (const auto& rule : faults().rules)
      if (rule.name == name && (call == rule.nth || (rule.fromThenOn && call > rule.nth)))
        code = rule.code, lost = rule.lost;
  }
  if (lost)
    if (Device* device = current()) device->error = code;
  return code;
}

}  // namespace fake

using namespace fake;

// 1 when the key was understood. Keys: see set() above; "fail" adds a rule.
FAKE_API int fakeSet(const char* key, const char* value) { return set(key, value); }

// Settings, rules and counters as at the start. What is live stays; the sticky errors go.
FAKE_API void fakeReset() {
  {
    std::lock_guard lock(faults().mutex);
    faults().rules.clear();
    faults().any = false;
    for (auto* known : faults().functions) known->calls = 0;
  }
  State& s = state();
  {
    Lock lock(s.mutex);
    s.settings = {};
    const Counters before = s.counters;
    s.counters = {};
    s.counters.deviceBytes = before.deviceBytes, s.counters.pinnedBytes = before.pinnedBytes;
    s.counters.peakPinnedBytes = before.pinnedBytes;
    s.counters.deviceAllocations = before.deviceAllocations, s.counters.pinnedAllocations = before.pinnedAllocations;
    s.counters.registrations = before.registrations, s.counters.concurrent = before.concurrent;
    s.counters.heldFrees = before.heldFrees;
    s.failOperation = 0;
    // a capture that nobody could end on a lost device would forbid its thread everything from now on
    for (const auto& [_, stream] : s.streams)
      if (stream->device->error) stream->capture = nullptr;
    for (Device* device : s.used) device->error = kOk;
    s.manual.notify_all();
  }
  fromEnvironment();
}

FAKE_API std::size_t fakeStatsJson(char* buffer, std::size_t size) {
  std::ostringstream out;
  {
    State& s = state();
    Lock lock(s.mutex);
    const Counters& c = s.counters;
    int retained = 0;
    for (const Device* device : s.used) retained += device->retained;
    std::size_t pending = 0;
    for (const auto& [handle, stream] : s.streams) pending += stream->submitted - stream->completed;
    out << "{\"contexts\":" << retained << ",\"deviceAllocations\":" << c.deviceAllocations
        << ",\"deviceBytes\":" << c.deviceBytes << ",\"pinnedAllocations\":" << c.pinnedAllocations
        << ",\"pinnedBytes\":" << c.pinnedBytes << ",\"peakPinnedBytes\":" << c.peakPinnedBytes
        << ",\"registrations\":" << c.registrations << ",\"streams\":" << s.streams.size()
        << ",\"events\":" << s.events.size() << ",\"graphs\":" << s.graphs.size()
        << ",\"graphExecs\":" << s.execs.size() << ",\"bytesHtoD\":" << c.bytesHtoD << ",\"bytesDtoH\":" << c.bytesDtoH
        << ",\"bytesDtoD\":" << c.bytesDtoD << ",\"copiesHtoD\":" << c.copiesHtoD << ",\"copiesDtoH\":" << c.copiesDtoH
        << ",\"copiesDtoD\":" << c.copiesDtoD << ",\"heldFrees\":" << c.heldFrees
        << ",\"pinnedFreesOnMain\":" << c.pinnedFreesOnMain << ",\"wrongDevice\":" << c.wrongDevice
        << ",\"pageableCopies\":" << c.pageableCopies << ",\"enqueues\":" << c.enqueues
        << ",\"executions\":" << c.executions << ",\"graphLaunches\":" << c.graphLaunches
        << ",\"operations\":" << c.operations << ",\"pending\":" << pending
        << ",\"peakConcurrent\":" << c.peakConcurrent << ",\"manualNow\":" << s.manualNow << ",\"calls\":{";
  }
  {
    std::lock_guard lock(faults().mutex);
    const char* comma = "";
    for (auto* known : faults().functions) {
      if (!known->calls) continue;
      out << comma << '"' << known->name << "\":" << known->calls;
      comma = ",";
    }
  }
  out << "}}";
  const std::string text = out.str();
  if (buffer && size > text.size()) std::memcpy(buffer, text.c_str(), text.size() + 1);
  return text.size() + 1;
}

static const struct {
  CUresult code;
  const char *name, *text;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {226, "CUDA_ERROR_CONTAINED", "invalid access of peer GPU memory over nvlink or a hardware error"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {710, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "part or all of the requested memory range is already mapped"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "pointer does not correspond to a registered memory region"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", "MPS client is terminated"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
    {907, "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

FAKE_API CUresult cuGetErrorName(CUresult code, const char** name) {
  for (const auto& error : errors)
    if (error.code == code) return *name = error.name, kOk;
  return *name = nullptr, kInvalidValue;
}
FAKE_API CUresult cuGetErrorString(CUresult code, const char** text) {
  for (const auto& error : errors)
    if (error.code == code) return *text = error.text, kOk;
  return *text = nullptr, kInvalidValue;
}
