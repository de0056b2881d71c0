// The calls that every inference makes. Bare Node-API here: a call costs a few hundred nanoseconds, and each wrapper
// would show.
#include <algorithm>
#include <cstring>
#include <optional>

#include "completions.h"
#include "device_tensor.h"
#include "errors.h"
#include "handle.h"
#include "inference_arguments.h"
#include "pinned.h"
#include "values.h"

namespace nt::node {
namespace {

constexpr double kMostMilliseconds = 1e12;
constexpr double kMostDimensions = 8;        // of TensorRT's Dims
constexpr std::size_t kMostOptionals = 700;  // that the shared array has room for, beside CompletionPort::kMostTensors

CompletionPort& portOf(const EngineHandle& handle) {
  CompletionPort* port = handle.environment->port();
  if (port == nullptr) throwExpected("connect() before an inference");
  return *port;
}

void readShape(const double*& dims, std::size_t input, execution::Shape& shape) {
  const double rank = *dims++;
  if (!(rank >= 0 && rank <= kMostDimensions)) throwExpected("the rank of input " + std::to_string(input));
  shape.clear();
  for (double left = rank; left >= 1; --left) {
    const double dim = *dims++;
    if (!(dim >= 0 && dim <= kMostSafe)) throwExpected("the dimensions of input " + std::to_string(input));
    shape.push_back(static_cast<int64_t>(dim));
  }
}

// Rank and dimensions of each input, as lib/ wrote them into the shared array. They are believed only as far as memory
// goes: a call by somebody else finds there what an earlier one left.
std::vector<execution::InputView>& givenOf(const Arguments& arguments, std::size_t first, const double*& dims,
                                           std::size_t inputs) {
  std::vector<execution::InputView>& given = arguments.handle->given;
  given.resize(inputs);
  for (std::size_t i = 0; i < inputs; ++i) {
    readShape(dims, i, given[i].shape);
    const auto bytes = arguments.bytes(first + i);
    given[i].bytes = bytes.value_or(std::span<const uint8_t>{});
    given[i].leased = !bytes;  // then leaseResident() finds it
  }
  return given;
}

// An input that stayed on its device is no typed array.
execution::Lease leaseResident(const Arguments& arguments, std::size_t index, const execution::Engine& engine,
                               std::size_t input, execution::InputView& given) {
  const execution::IoTensor& tensor = engine.inputs()[input];
  if (index >= arguments.values.size()) failNoTensor(index);
  const auto resident = residentOf(arguments.env, arguments.values[index], engine.tensors(), "input", tensor.name);
  if (!resident) failNoTensor(index);
  if (tensor.onHost) {
    throw Error("ERR_TRT_DEVICE",
                "Expected a tensor on the host for input '" + tensor.name +
                    "', whose values the CPU reads, but received one on a device: await its toHost()");
  }
  given.bytes = {resident->data(), resident->size()};
  return {Resident::leaseToRead(resident), resident->data(), resident->onGpu()};
}

// Inputs in pinned memory of ours, or on the device, are not copied: the part leases them.
void lease(const Arguments& arguments, std::size_t first, std::vector<execution::InputView>& given,
           execution::Part& part) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    execution::Lease lease;
    if (given[i].leased) {
      lease = leaseResident(arguments, first + i, arguments.handle->open().engine(), i, given[i]);
    } else {
      const std::span<const uint8_t> bytes = given[i].bytes;
      lease = {leasePinned(bytes.data(), bytes.size(), arguments.pinned, Access::read), bytes.data()};
      given[i].leased = lease.owner != nullptr;
    }
    if (!given[i].leased) continue;
    part.leases.resize(given.size());
    part.leases[i] = std::move(lease);
  }
}

// A copy of less takes no longer than the rest of a lease.
constexpr std::size_t kWorthReadingInPlace = std::size_t{8} << 10;

// What the caller of runSync gave for the CPU is read where it is: nothing of its thread writes there meanwhile. Not
// where other threads may, nor where results go to memory of the caller, which may be the same.
void leaseWhileWaiting(const Arguments& arguments, std::size_t first, std::vector<execution::InputView>& given,
                       execution::Part& part) {
  const execution::Engine& engine = arguments.handle->open().engine();
  if (engine.deviceIndex() >= 0 || arguments.typeOf(1) != napi_undefined) return;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::span<const uint8_t> bytes = given[i].bytes;
    if (given[i].leased || bytes.size() < kWorthReadingInPlace || arguments.isShared(first + i)) continue;
    given[i].leased = true;
    part.leases.resize(given.size());
    part.leases[i] = {nullptr, bytes.data()};
  }
}

// The data of an input that may be left out, copied, or leased where it stayed on its device.
void readOptional(const Arguments& arguments, std::size_t index, const execution::Engine& engine,
                  execution::OptionalInput& given) {
  if (const auto bytes = arguments.bytes(index)) {
    const std::shared_ptr<HostBlock> block = engine.pool().acquire(std::max<std::size_t>(bytes->size(), 1));
    if (!bytes->empty()) std::memcpy(block->data(), bytes->data(), bytes->size());
    given.bytes = {block->data(), bytes->size()};
    given.owner = block;
    return;
  }
  if (index >= arguments.values.size()) failNoTensor(index);
  const std::string& name = engine.optionals()[given.index].name;
  const auto resident = residentOf(arguments.env, arguments.values[index], engine.tensors(), "input", name);
  if (!resident) failNoTensor(index);
  given.owner = Resident::leaseToRead(resident);
  given.bytes = {resident->data(), resident->size()};
}

// Behind the shapes of inputs, of an engine that has inputs which may be left out: how many were given, and of each its
// place among those, rank and dimensions. Their data is behind that of the inputs.
void readOptionals(const Arguments& arguments, std::size_t first, const double* dims, execution::Part& part) {
  const std::shared_ptr<execution::Engine> engine = arguments.handle->open().sharedEngine();
  const std::size_t most = engine->optionals().size();
  if (most == 0) return;
  const double count = *dims++;
  if (!(count >= 0 && count <= static_cast<double>(std::min(most, kMostOptionals))))
    throwExpected("how many optional inputs there are");
  part.optionals.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < part.optionals.size(); ++i) {
    execution::OptionalInput& given = part.optionals[i];
    const double place = *dims++;
    if (!(place >= 0 && place < static_cast<double>(most))) throwExpected("the place of an optional input");
    given.index = static_cast<std::size_t>(place);
    readShape(dims, first + i, given.shape);
    readOptional(arguments, first + i, *engine, given);
  }
}

// Which outputs are wanted: a number, of which bit i is about output i, or -1 for all; or a typed array with a byte for
// each, since a number has 53 bits.
void select(const Arguments& arguments, std::size_t index, execution::Part& part) {
  const auto given = arguments.bytes(index);
  if (!given) {
    if (arguments.number(index) != -1) part.outputs = arguments.whole(index);
    return;
  }
  const auto wanted = *given;
  if (const std::size_t outputs = arguments.handle->open().engine().outputs().size(); wanted.size() != outputs) {
    throwExpected(std::to_string(outputs) + " bytes for argument " + std::to_string(index) + " but received " +
                  std::to_string(wanted.size()));
  }
  const auto first = wanted.first(std::min<std::size_t>(wanted.size(), 64));
  part.outputs = 0;
  for (std::size_t i = 0; i < first.size(); ++i) part.outputs |= uint64_t{first[i] != 0} << i;
  const auto further = wanted.subspan(first.size());
  part.furtherOutputs.assign(further.begin(), further.end());
}

// The memory that an output is to be written to: of a tensor on the device, or pinned memory of ours; none where it is
// neither, and is copied to by lib/.
execution::Target targetOf(const Arguments& arguments, napi_value value, const execution::Engine& engine,
                           std::size_t output) {
  if (const auto bytes = arguments.bytesOf(value)) {
    std::shared_ptr<void> owner = leasePinned(bytes->data(), bytes->size(), arguments.pinned, Access::write);
    if (!owner) return {};
    return {std::move(owner), const_cast<uint8_t*>(bytes->data()), bytes->size(), false, nullptr};
  }
  const std::string& name = engine.outputs()[output].name;
  const auto resident = residentOf(arguments.env, value, engine.tensors(), "output", name);
  if (!resident) failNoDestination(output);
  return {Resident::leaseToWrite(resident), resident->data(), resident->size(), resident->onGpu(), nullptr};
}

// Where outputs go, as argument `index` says by output: undefined or false to the host, true to memory of their device,
// where they stay, or to the memory of a typed array or of a tensor that stays.
void direct(const Arguments& arguments, std::size_t index, execution::Part& part) {
  if (arguments.typeOf(index) == napi_undefined) return;
  // held: an element may be a getter that closes the engine
  const std::shared_ptr<execution::Engine> engine = arguments.handle->open().sharedEngine();
  const std::size_t outputs = engine->outputs().size();
  for (std::size_t i = 0, given = arguments.lengthOf(index); i < std::min(outputs, given); ++i) {
    const napi_value value = arguments.element(index, i);
    const napi_valuetype type = arguments.typeOf(value);
    if (type == napi_undefined) continue;
    bool stays = false;
    if (type == napi_boolean && napi_get_value_bool(arguments.env, value, &stays) == napi_ok) {
      part.stays.resize(outputs);
      part.stays[i] = stays ? 1 : 0;
      continue;
    }
    execution::Target target = targetOf(arguments, value, *engine, i);
    if (!target) continue;
    part.targets.resize(outputs);
    part.targets[i] = std::move(target);
  }
}

// What is wanted, as argument `index` says, and where it goes, as the next one says. Before anything else is read: the
// array may be one whose elements run JavaScript.
execution::Part partOf(const Arguments& arguments, std::size_t index) {
  execution::Part part;
  select(arguments, index, part);
  direct(arguments, index + 1, part);
  return part;
}

// What the shared array has before the shapes: the priority, 0 for the default one, and the queue timeout in
// milliseconds, 0 for none, -1 for a request that its level's limits do not hold for. After submit() the first is the
// request's ticket.
constexpr std::ptrdiff_t kPolicyNumbers = 2;
void readPolicy(const double* numbers, execution::Part& part) {
  constexpr double kMostLevel = 1 << 20;
  const double level = numbers[0], milliseconds = numbers[1];
  if (!(level >= 0 && level <= kMostLevel)) throwExpected("a priority");
  part.level = static_cast<uint32_t>(level);
  part.unlimited = milliseconds == -1;
  if (part.unlimited) return;
  if (!(milliseconds >= 0 && milliseconds <= kMostMilliseconds)) throwExpected("milliseconds of a queue timeout");
  part.queueTimeout =
      std::chrono::duration_cast<execution::Clock::duration>(std::chrono::duration<double, std::milli>(milliseconds));
}

// submit(request, outputs, destinations, ...arrays): queues an inference; its completion comes through the port
napi_value submit(napi_env env, napi_callback_info info) {
  return call(env, info, [&](const Arguments& arguments) -> napi_value {
    EngineHandle& handle = *arguments.handle;
    execution::Part part = partOf(arguments, 1);
    part.request = arguments.whole(0);
    execution::Client& client = handle.open();
    double* const shared = portOf(handle).dims();
    readPolicy(shared, part);
    const double* dims = shared + kPolicyNumbers;
    auto& given = givenOf(arguments, 3, dims, client.engine().inputs().size());
    lease(arguments, 3, given, part);
    readOptionals(arguments, 3 + given.size(), dims, part);
    *shared = static_cast<double>(client.submit(given, std::move(part), handle.scratch));
    handle.environment->begin(env);
    return nullptr;
  });
}

// runSync(outputs, destinations, ...arrays): runs on this thread; the completion stands in the port's array, the result
// is its objects
napi_value runSync(napi_env env, napi_callback_info info) {
  return call(env, info, [&](const Arguments& arguments) -> napi_value {
    EngineHandle& handle = *arguments.handle;
    execution::Part part = partOf(arguments, 0);
    execution::Client& client = handle.open();
    CompletionPort& port = portOf(handle);
    const double* dims = port.dims() + kPolicyNumbers;
    auto& given = givenOf(arguments, 2, dims, client.engine().inputs().size());
    lease(arguments, 2, given, part);
    leaseWhileWaiting(arguments, 2, given, part);
    readOptionals(arguments, 2 + given.size(), dims, part);
    execution::Completion completion = client.run(given, std::move(part), handle.scratch);
    return port.write(env, completion);
  });
}

// cancel(ticket): whether it was taken out of the queue, so that no completion comes
napi_value cancel(napi_env env, napi_callback_info info) {
  return call(env, info, [&](const Arguments& arguments) -> napi_value {
    EngineHandle& handle = *arguments.handle;
    const bool cancelled = handle.client && handle.client->cancel(arguments.whole(0));
    if (cancelled) handle.environment->end(env);
    napi_value result = nullptr;
    napi_get_boolean(env, cancelled, &result);
    return result;
  });
}

napi_value boundFunction(napi_env env, const char* name, napi_callback callback,
                         const std::shared_ptr<EngineHandle>& handle) {
  auto* kept = new std::shared_ptr<EngineHandle>(handle);
  napi_value function = nullptr;
  const auto release = [](napi_env, void* data, void*) { delete static_cast<std::shared_ptr<EngineHandle>*>(data); };
  if (napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, kept, &function) != napi_ok ||
      napi_add_finalizer(env, function, kept, release, nullptr, nullptr) != napi_ok) {
    delete kept;
    throw Error("ERR_TRT_EXECUTION", "Node refused to make a function");
  }
  return function;
}

}  // namespace

void exportInference(Napi::Object engine, const std::shared_ptr<EngineHandle>& handle) {
  engine.Set("submit", boundFunction(engine.Env(), "submit", submit, handle));
  engine.Set("runSync", boundFunction(engine.Env(), "runSync", runSync, handle));
  engine.Set("cancel", boundFunction(engine.Env(), "cancel", cancel, handle));
}

}  // namespace nt::node
