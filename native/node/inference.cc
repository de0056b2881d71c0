// The calls that every inference makes. Bare Node-API here: a call costs a few hundred nanoseconds, and each wrapper
// would show.
#include <cstring>

#include "completions.h"
#include "errors.h"
#include "handle.h"
#include "pinned.h"
#include "values.h"

namespace nt::node {
namespace {

constexpr std::size_t kMostArguments = 2048;
constexpr double kMostSafe = 9007199254740991;  // Number.MAX_SAFE_INTEGER
constexpr double kMostDimensions = 8;           // of TensorRT's Dims

// The arguments of a call: numbers first, then one typed array for each input. Shapes come in `dims`, which lib/ writes
// just before.
struct Arguments {
  napi_env env;
  EngineHandle* handle = nullptr;
  napi_value few[8] = {};
  std::vector<napi_value> many;  // where these are too few
  std::span<napi_value> values;

  Arguments(napi_env env, napi_callback_info info) : env(env), values(few) {
    std::size_t count = values.size();
    void* data = nullptr;
    napi_get_cb_info(env, info, &count, values.data(), nullptr, &data);
    if (count > values.size()) {
      many.resize(std::min(count, kMostArguments));
      values = many;
      count = values.size();  // what there is room for
      napi_get_cb_info(env, info, &count, values.data(), nullptr, &data);
    }
    values = values.first(std::min(count, values.size()));
    handle = static_cast<std::shared_ptr<EngineHandle>*>(data)->get();
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  double number(std::size_t index) const {
    double value = 0;
    if (index >= values.size() || napi_get_value_double(env, values[index], &value) != napi_ok) {
      throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected a number for argument " + std::to_string(index));
    }
    return value;
  }

  uint64_t whole(std::size_t index) const {
    const double value = number(index);
    if (!(value >= 0 && value <= kMostSafe)) {
      throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected a whole number for argument " + std::to_string(index));
    }
    return static_cast<uint64_t>(value);
  }

  // The memory of a typed array; nothing when it is detached.
  std::span<const uint8_t> bytes(std::size_t index) const {
    napi_typedarray_type type = napi_uint8_array;
    std::size_t length = 0;
    void* data = nullptr;
    if (index >= values.size() ||
        napi_get_typedarray_info(env, values[index], &type, &length, &data, nullptr, nullptr) != napi_ok) {
      throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected a typed array for argument " + std::to_string(index));
    }
    constexpr std::size_t sizes[] = {1, 1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 2};  // by napi_typedarray_type
    const auto kind = static_cast<std::size_t>(type);
    const std::size_t size = kind < std::size(sizes) ? sizes[kind] : 1;
    return {static_cast<const uint8_t*>(data), data == nullptr ? 0 : length * size};
  }
};

// What the wrapped body throws becomes a JavaScript exception.
template <class Body>
napi_value call(napi_env env, napi_callback_info info, Body body) {
  try {
    Arguments arguments(env, info);
    return body(arguments);
  } catch (...) {
    napi_throw(env, toJavaScript(env, std::current_exception()));
    return nullptr;
  }
}

CompletionPort& portOf(const EngineHandle& handle) {
  CompletionPort* port = handle.environment->port();
  if (port == nullptr) throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected connect() before an inference");
  return *port;
}

// Rank and dimensions of each input, as lib/ wrote them into the shared array. They are believed only as far as memory
// goes: a call by somebody else finds there what an earlier one left.
std::vector<execution::Given>& givenOf(const Arguments& arguments, std::size_t first, const double* dims,
                                       std::size_t inputs) {
  std::vector<execution::Given>& given = arguments.handle->given;
  given.resize(inputs);
  for (std::size_t i = 0; i < inputs; ++i) {
    const double rank = *dims++;
    if (!(rank >= 0 && rank <= kMostDimensions)) {
      throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected the rank of input " + std::to_string(i));
    }
    given[i].shape.clear();
    for (double left = rank; left >= 1; --left) {
      const double dim = *dims++;
      if (!(dim >= 0 && dim <= kMostSafe)) {
        throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected the dimensions of input " + std::to_string(i));
      }
      given[i].shape.push_back(static_cast<int64_t>(dim));
    }
    given[i].bytes = arguments.bytes(first + i);
  }
  return given;
}

// Inputs in pinned memory of ours are not copied: the part leases them.
void lease(std::vector<execution::Given>& given, execution::Part& part) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::shared_ptr<void> owner = leasePinned(given[i].bytes.data(), given[i].bytes.size());
    given[i].leased = owner != nullptr;
    if (!owner) continue;
    part.leases.resize(given.size());
    part.leases[i] = {std::move(owner), given[i].bytes.data()};
  }
}

// What is wanted, as argument `index` says, and where it goes, as setTarget() said for this one call.
execution::Part partOf(const Arguments& arguments, std::size_t index) {
  execution::Part part;
  part.targets = std::exchange(arguments.handle->targets, {});
  if (arguments.number(index) != -1) part.outputs = arguments.whole(index);
  return part;
}

// submit(request, outputs, ...arrays): queues an inference; its completion comes through the port
napi_value submit(napi_env env, napi_callback_info info) {
  return call(env, info, [&](const Arguments& arguments) -> napi_value {
    EngineHandle& handle = *arguments.handle;
    execution::Part part = partOf(arguments, 1);
    part.request = arguments.whole(0);
    execution::Session& session = handle.open();
    auto& given = givenOf(arguments, 2, portOf(handle).dims(), session.engine().inputs().size());
    lease(given, part);
    session.submit(given, std::move(part), handle.scratch);
    handle.environment->begin(env);
    return nullptr;
  });
}

// runSync(outputs, ...arrays): runs on this thread; the completion stands in the port's array, the result is its
// objects
napi_value runSync(napi_env env, napi_callback_info info) {
  return call(env, info, [&](const Arguments& arguments) -> napi_value {
    EngineHandle& handle = *arguments.handle;
    execution::Part part = partOf(arguments, 0);
    execution::Session& session = handle.open();
    CompletionPort& port = portOf(handle);
    auto& given = givenOf(arguments, 1, port.dims(), session.engine().inputs().size());
    lease(given, part);
    execution::Completion completion = session.run(given, std::move(part), handle.scratch);
    return port.write(env, completion);
  });
}

// cancel(request): whether it was taken out of the queue, so that no completion comes
napi_value cancel(napi_env env, napi_callback_info info) {
  return call(env, info, [&](const Arguments& arguments) -> napi_value {
    EngineHandle& handle = *arguments.handle;
    const bool cancelled = handle.session && handle.session->cancel(arguments.whole(0));
    if (cancelled) handle.environment->end(env);
    napi_value result = nullptr;
    napi_get_boolean(env, cancelled, &result);
    return result;
  });
}

// setTarget(output, array): the next call writes that output there. False where the array is no pinned memory of ours.
napi_value setTarget(napi_env env, napi_callback_info info) {
  return call(env, info, [&](const Arguments& arguments) -> napi_value {
    EngineHandle& handle = *arguments.handle;
    // what an earlier call set for the same inference is not to be left for another when this one is refused
    std::vector<execution::Target> targets = std::exchange(handle.targets, {});
    const std::size_t output = arguments.whole(0);
    const std::size_t outputs = handle.open().engine().outputs().size();
    const auto bytes = arguments.bytes(1);
    std::shared_ptr<void> owner = output < outputs ? leasePinned(bytes.data(), bytes.size()) : nullptr;
    targets.resize(outputs);
    if (owner) targets[output] = {owner, const_cast<uint8_t*>(bytes.data()), bytes.size()};
    handle.targets = std::move(targets);
    napi_value result = nullptr;
    napi_get_boolean(env, owner != nullptr, &result);
    return result;
  });
}

}  // namespace

napi_value boundFunction(Napi::Env env, const char* name, napi_callback callback,
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

void exportInference(Napi::Env env, Napi::Object engine, const std::shared_ptr<EngineHandle>& handle) {
  engine.Set("submit", boundFunction(env, "submit", submit, handle));
  engine.Set("runSync", boundFunction(env, "runSync", runSync, handle));
  engine.Set("cancel", boundFunction(env, "cancel", cancel, handle));
  engine.Set("setTarget", boundFunction(env, "setTarget", setTarget, handle));
}

}  // namespace nt::node
