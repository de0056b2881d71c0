// What the pieces of the fake CUDA driver share. Device memory is host memory; streams are queues with a thread each.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "../teardown.h"

#define FAKE_API extern "C" __attribute__((visibility("default")))

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
// Handles are numbers that are never used twice, so that a stale one is always recognised.
using Handle = std::uintptr_t;

namespace fake {

enum : CUresult {
  kOk = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kAlreadyRegistered = 712,
  kNotRegistered = 713,
  kNotPermitted = 800,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureMerge = 902,
  kCaptureUnmatched = 903,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCapturedEvent = 907,
  kCaptureWrongThread = 908,
};

struct Stream;
struct Graph;

struct Device {
  int index = 0;
  int retained = 0;
  std::atomic<CUresult> error{kOk};  // sticky: every later call on this device fails with it
  std::shared_ptr<Stream> defaultStream;
  std::size_t used = 0;
};

// One recording of an event. A wait refers to the recording that was newest when the wait was made.
struct Mark {
  bool done = false;
  double time = 0;  // device time in milliseconds
  Graph* captured = nullptr;
  std::condition_variable cv;
};

struct Event {
  bool timing = true;
  std::shared_ptr<Mark> mark;
};

struct Operation {
  std::function<void()> run;
  std::function<void()> launched;  // at each launch of the graph that it was captured into
  double milliseconds = 0;
  double submitted = 0;
  std::shared_ptr<Mark> wait;
  std::shared_ptr<Mark> record;
  std::shared_ptr<Graph> replays;
};

struct Graph {
  std::vector<Operation> operations;
  Handle origin = 0;
  std::vector<Stream*> joined;  // streams other than the origin that have not been waited for yet
  bool invalid = false;
};

struct Stream {
  Handle handle = 0;
  Device* device = nullptr;
  int priority = 0;
  std::deque<Operation> queue;
  std::uint64_t submitted = 0, completed = 0;
  bool threaded = false, stopping = false, busy = false;
  double availableAt = 0;
  std::condition_variable work, idle;
  std::shared_ptr<Graph> capture;
  int captureMode = 0;
  unsigned long long captureThread = 0;
};

enum class Kind { kDevice, kPinned, kRegistered };
struct Allocation {
  std::size_t size = 0;
  Kind kind = Kind::kDevice;
  int device = 0;
  std::uint64_t number = 0;  // never used twice, as an address is
};

enum class Clock { kReal, kVirtual, kManual };

struct Settings {
  int devices = 1;
  double copyMs = 0, computeMs = 0, blockMs = 0;
  Clock clock = Clock::kReal;
  bool inlineWhenIdle = false;
  bool holdFrees = false;  // cuMemFreeHost takes until this is false again, or five seconds
  std::size_t memory = std::size_t{8} << 30;
  int driverVersion = 13000;
  std::string deviceName = "Fake GPU";
  std::string deviceNames;                // "A,B": whole names, by number; the last is that of all which follow
  std::string computeCapability = "9.0";  // "8.6,9.0", likewise
};

struct Counters {
  std::uint64_t deviceBytes = 0, pinnedBytes = 0, deviceAllocations = 0, pinnedAllocations = 0, registrations = 0;
  std::uint64_t peakPinnedBytes = 0;
  std::uint64_t bytesHtoD = 0, bytesDtoH = 0, bytesDtoD = 0, copiesHtoD = 0, copiesDtoH = 0, copiesDtoD = 0,
                executions = 0, pageableCopies = 0;
  std::uint64_t heldFrees = 0,
                pinnedFreesOnMain = 0;  // who is held now; calls of cuMemFreeHost on the process's first thread
  std::uint64_t wrongDevice = 0;        // memory or streams of one device, used or freed while another is current
  std::uint64_t enqueues = 0, graphLaunches = 0, operations = 0, peakConcurrent = 0, concurrent = 0;
};

struct State {
  std::mutex mutex;  // guards everything below; never held while an operation runs
  Settings settings;
  Counters counters;
  std::atomic<bool> initialized = false;
  std::vector<std::unique_ptr<Device>> devices;
  std::set<Device*> used;            // those that can have a context or an error: a test may have 20,000 devices
  std::set<const Device*> contexts;  // the same, to be looked up
  std::map<Handle, std::shared_ptr<Stream>> streams;
  std::map<Handle, std::shared_ptr<Event>> events;
  std::map<Handle, std::shared_ptr<Graph>> graphs, execs;
  std::map<std::uintptr_t, Allocation> memory;
  Handle nextHandle = 0x5100'0000;
  std::uint64_t allocations = 0;
  double manualNow = 0;
  std::condition_variable manual;
  std::int64_t failOperation = 0;
  CUresult failOperationCode = 0;
};
// Leaked on purpose: stream threads outlive main() at exit.
State& state();
Handle newHandle();  // with the mutex held

// faults.cc
struct Function {
  const char* name;
  std::atomic<std::uint64_t> calls{0};
  CUresult enter();
};
Function* function(const char* name);
bool inHostFunction();
void setInHostFunction(bool value);

// context.cc
Device* current();
void useDevice(int index);  // with the mutex held; counts what belongs to another device than the current one
std::string itemOf(const std::string& list, int index);  // the last one of "a,b" for all from 1 on
CUresult contextError();

// streams.cc
using Lock = std::unique_lock<std::mutex>;
double deviceNow();
Device* running();                                  // the device of the operation that this thread is at
std::shared_ptr<Stream> findStream(Handle handle);  // with the mutex held; null when unknown
void submit(Lock& lock, const std::shared_ptr<Stream>& stream, Operation operation);
void waitIdle(Lock& lock, Stream& stream);
void finish(Mark& mark, double time);
bool captureForbids(Lock& lock);  // a call that capture in thread-local mode does not allow; invalidates the capture

// memory.cc
const Allocation* findAllocation(const void* pointer, std::uintptr_t* base);  // with the mutex held
CUresult checkRange(Lock& lock, const void* pointer, std::size_t bytes);

}  // namespace fake

#define ENTER(NAME)                                     \
  fake::checkNotTornDown();                             \
  static fake::Function* self_ = fake::function(#NAME); \
  if (const CUresult fault_ = self_->enter()) return fault_
#define NEED_CONTEXT() \
  if (const CUresult context_ = fake::contextError()) return context_
