// A library of custom operators as onnxruntime takes it: one operator, Twice of the domain "test", y = 2 x of float32.
// With REFUSES it refuses to register it. No header of onnxruntime: functions are called by their place in its table.
#include <cstddef>
#include <cstdint>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Base {
  void* const* (*api)(std::uint32_t version);
  char const* (*version)();
};
constexpr std::uint32_t kApi = 17;
void* const* api = nullptr;

template <class... Parameters>
void* call(std::size_t place, Parameters... parameters) {
  return reinterpret_cast<void* (*)(Parameters...)>(api[place])(parameters...);
}

struct Operator {
  std::uint32_t version;
  void* (*createKernel)(Operator const*, void const*, void const*);
  char const* (*name)(Operator const*);
  char const* (*provider)(Operator const*);
  int (*inputType)(Operator const*, std::size_t);
  std::size_t (*inputs)(Operator const*);
  int (*outputType)(Operator const*, std::size_t);
  std::size_t (*outputs)(Operator const*);
  void (*compute)(void*, void*);
  void (*destroyKernel)(void*);
  int (*inputCharacteristic)(Operator const*, std::size_t);
  int (*outputCharacteristic)(Operator const*, std::size_t);
  int (*inputMemory)(Operator const*, std::size_t);
  int (*minInputs)(Operator const*);
  int (*sameInputs)(Operator const*);
  int (*minOutputs)(Operator const*);
  int (*sameOutputs)(Operator const*);
  void* later[16];
};

constexpr int kFloat = 1;

void compute(void*, void* context) {
  void *input = nullptr, *output = nullptr, *info = nullptr, *data = nullptr, *result = nullptr;
  call(90, context, std::size_t{0}, &input);
  call(65, input, &info);
  std::size_t rank = 0, count = 0;
  call(61, info, &rank);
  std::vector<std::int64_t> dims(rank);
  call(62, info, dims.data(), rank);
  call(64, info, &count);
  call(99, info);
  call(51, input, &data);
  call(91, context, std::size_t{0}, dims.data(), rank, &output);
  call(51, output, &result);
  for (std::size_t i = 0; i < count; ++i) static_cast<float*>(result)[i] = 2 * static_cast<float*>(data)[i];
}

Operator const twice{
    15,
    [](Operator const*, void const*, void const*) -> void* { return nullptr; },
    [](Operator const*) { return "Twice"; },
    [](Operator const*) -> char const* { return nullptr; },
    [](Operator const*, std::size_t) { return kFloat; },
    [](Operator const*) -> std::size_t { return 1; },
    [](Operator const*, std::size_t) { return kFloat; },
    [](Operator const*) -> std::size_t { return 1; },
    compute,
    [](void*) {},
    [](Operator const*, std::size_t) { return 0; },
    [](Operator const*, std::size_t) { return 0; },
    [](Operator const*, std::size_t) { return 0; },
    [](Operator const*) { return 1; },
    [](Operator const*) { return 1; },
    [](Operator const*) { return 1; },
    [](Operator const*) { return 1; },
    {},
};

}  // namespace

EXPORT void* RegisterCustomOps(void* options, Base const* base) {
  api = base->api(kApi);
#ifdef REFUSES
  return call(0, 1, "this library wants nobody's sessions");
#endif
  static void* domain = nullptr;
  if (domain == nullptr) {
    if (void* status = call(26, "test", &domain)) return status;
    if (void* status = call(27, domain, &twice)) return status;
  }
  return call(28, options, domain);
}
