// The fastest that TensorRT can be driven with the same means as an engine's lane: one execution context, three streams
// (copy in, compute, copy out), two slots, pinned memory, a CUDA graph for each slot. What bench/loop.ts holds the
// engine against; plain C++ over TensorRT's own headers and CUDA's driver API.
//
//   g++ -std=c++20 -O2 -I TENSORRT_HEADERS -I CUDA_HEADERS bench/native_loop.cc -o native_loop -L LIBS -lnvinfer -lcuda
//   native_loop PLAN BATCH SECONDS
//
// prints one line of JSON: inferences (batches) per second, and the p50 of one after another, in microseconds, by
// enqueue and wait on one thread.
#include <NvInfer.h>
#include <cuda.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "native_loop: %s\n", why.c_str());
  std::exit(1);
}

void check(CUresult result, const char* what) {
  const char* text = "?";
  if (result == CUDA_SUCCESS) return;
  cuGetErrorString(result, &text);
  die(std::string(what) + ": " + text);
}
#define CHECK(call) check(call, #call)

void require(bool ok, const char* what) {
  if (!ok) die(what);
}

class Logger : public nvinfer1::ILogger {
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= Severity::kERROR) std::fprintf(stderr, "%s\n", text);
  }
};

std::size_t bits(nvinfer1::DataType type) {
  switch (type) {
    case nvinfer1::DataType::kINT64:
      return 64;
    case nvinfer1::DataType::kFLOAT:
    case nvinfer1::DataType::kINT32:
      return 32;
    case nvinfer1::DataType::kHALF:
    case nvinfer1::DataType::kBF16:
      return 16;
    case nvinfer1::DataType::kINT4:
      return 4;
    default:
      return 8;
  }
}

struct Tensor {
  const char* name;
  std::size_t bytes;
};

struct Buffer {
  CUdeviceptr device = 0;
  void* host = nullptr;
};

struct Slot {
  std::vector<Buffer> inputs, outputs;
  CUevent copiedIn, computed, done;
  CUgraphExec graph = nullptr;
};

std::vector<Buffer> allocate(const std::vector<Tensor>& tensors) {
  std::vector<Buffer> buffers(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    CHECK(cuMemAlloc(&buffers[i].device, std::max<std::size_t>(tensors[i].bytes, 1)));
    CHECK(cuMemHostAlloc(&buffers[i].host, std::max<std::size_t>(tensors[i].bytes, 1), CU_MEMHOSTALLOC_PORTABLE));
    std::memset(buffers[i].host, 0, tensors[i].bytes);
  }
  return buffers;
}

class Loop {
 public:
  Loop(nvinfer1::ICudaEngine& engine, int64_t batch) : context_(engine.createExecutionContext()) {
    require(context_ != nullptr, "createExecutionContext failed");
    for (CUstream* stream : {&in_, &compute_, &out_}) CHECK(cuStreamCreate(stream, CU_STREAM_NON_BLOCKING));
    setShapes(engine, batch);
    // what the caller has: the engine copies it into pinned memory too
    for (const Tensor& tensor : inputs_) given_.emplace_back(tensor.bytes);
    for (Slot& slot : slots_) prepare(slot);
  }

  // Copies the inputs into pinned memory and puts a batch on the device.
  void enqueue(Slot& slot) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      std::memcpy(slot.inputs[i].host, given_[i].data(), inputs_[i].bytes);
      CHECK(cuMemcpyHtoDAsync(slot.inputs[i].device, slot.inputs[i].host, inputs_[i].bytes, in_));
    }
    CHECK(cuEventRecord(slot.copiedIn, in_));
    CHECK(cuStreamWaitEvent(compute_, slot.copiedIn, 0));
    CHECK(cuGraphLaunch(slot.graph, compute_));
    CHECK(cuEventRecord(slot.computed, compute_));
    CHECK(cuStreamWaitEvent(out_, slot.computed, 0));
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      CHECK(cuMemcpyDtoHAsync(slot.outputs[i].host, slot.outputs[i].device, outputs_[i].bytes, out_));
    CHECK(cuEventRecord(slot.done, out_));
  }

  void wait(const Slot& slot) { CHECK(cuEventSynchronize(slot.done)); }

  // Batches per second, two under way.
  double throughput(double seconds) {
    const auto begun = Clock::now();
    const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - begun).count(); };
    int64_t count = 0;
    enqueue(slots_[0]);
    while (passed() < seconds) {
      enqueue(slots_[(count + 1) % 2]);
      wait(slots_[count++ % 2]);
    }
    wait(slots_[count++ % 2]);
    return static_cast<double>(count) / passed();
  }

  // Microseconds of one batch after another.
  double p50(double seconds) {
    std::vector<double> times;
    const auto begun = Clock::now();
    for (auto now = begun; now - begun < std::chrono::duration<double>(seconds);) {
      enqueue(slots_[0]);
      while (cuEventQuery(slots_[0].done) == CUDA_ERROR_NOT_READY) continue;
      wait(slots_[0]);
      const auto end = Clock::now();
      times.push_back(std::chrono::duration<double, std::micro>(end - now).count());
      now = end;
    }
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }

 private:
  void setShapes(nvinfer1::ICudaEngine& engine, int64_t batch) {
    std::vector<const char*> outputs;
    for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
      const char* name = engine.getIOTensorName(i);
      require(engine.getTensorLocation(name) == nvinfer1::TensorLocation::kDEVICE, "shape tensors are not supported");
      if (engine.getTensorIOMode(name) == nvinfer1::TensorIOMode::kOUTPUT) {
        outputs.push_back(name);
        continue;
      }
      nvinfer1::Dims dims = engine.getTensorShape(name);
      for (int32_t d = 0; d < dims.nbDims; ++d) {
        if (dims.d[d] >= 0) continue;
        const auto best = engine.getProfileShape(name, 0, nvinfer1::OptProfileSelector::kOPT);
        dims.d[d] = d == 0 ? static_cast<decltype(dims.d[0])>(batch) : best.d[d];
      }
      require(context_->setInputShape(name, dims), "setInputShape refused the batch");
      inputs_.push_back({name, size(engine, name)});
    }
    for (const char* name : outputs) outputs_.push_back({name, size(engine, name)});
  }

  std::size_t size(nvinfer1::ICudaEngine& engine, const char* name) {
    const nvinfer1::Dims dims = context_->getTensorShape(name);
    std::size_t count = 1;
    for (int32_t d = 0; d < dims.nbDims; ++d) {
      require(dims.d[d] >= 0, "outputs whose size depends on the data are not supported");
      count *= static_cast<std::size_t>(dims.d[d]);
    }
    return (count * bits(engine.getTensorDataType(name)) + 7) / 8;
  }

  void prepare(Slot& slot) {
    slot.inputs = allocate(inputs_);
    slot.outputs = allocate(outputs_);
    for (CUevent* event : {&slot.copiedIn, &slot.computed, &slot.done})
      CHECK(cuEventCreate(event, CU_EVENT_DISABLE_TIMING));
    const auto bind = [&](const std::vector<Tensor>& tensors, const std::vector<Buffer>& buffers) {
      for (std::size_t i = 0; i < tensors.size(); ++i)
        require(context_->setTensorAddress(tensors[i].name, reinterpret_cast<void*>(buffers[i].device)),
                "setTensorAddress");
    };
    bind(inputs_, slot.inputs);
    bind(outputs_, slot.outputs);
    const auto run = [&] { require(context_->enqueueV3(reinterpret_cast<cudaStream_t>(compute_)), "enqueueV3"); };
    run();  // once uncaptured, as TensorRT wants it
    CHECK(cuStreamSynchronize(compute_));
    CUgraph graph;
    CHECK(cuStreamBeginCapture(compute_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    run();
    CHECK(cuStreamEndCapture(compute_, &graph));
    CHECK(cuGraphInstantiateWithFlags(&slot.graph, graph, 0));
    CHECK(cuGraphDestroy(graph));
  }

  std::unique_ptr<nvinfer1::IExecutionContext> context_;
  CUstream in_, compute_, out_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<std::vector<char>> given_;
  Slot slots_[2];
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) die("usage: native_loop PLAN BATCH SECONDS");
  if (cuInit(0) != CUDA_SUCCESS) die("this needs an NVIDIA GPU and its driver (cuInit failed)");
  CUdevice device;
  CUcontext primary;
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&primary, device));
  CHECK(cuCtxSetCurrent(primary));

  std::ifstream file(argv[1], std::ios::binary);
  const std::vector<char> plan{std::istreambuf_iterator<char>(file), {}};
  Logger logger;
  const std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(logger));
  require(runtime != nullptr, "createInferRuntime failed");
  const std::unique_ptr<nvinfer1::ICudaEngine> engine(runtime->deserializeCudaEngine(plan.data(), plan.size()));
  require(engine != nullptr, "deserializeCudaEngine failed");

  Loop loop(*engine, std::atoll(argv[2]));
  const double seconds = std::atof(argv[3]);
  loop.throughput(seconds / 4);  // to warm up
  const double rate = loop.throughput(seconds);
  std::printf("{\"perSecond\": %.2f, \"p50Us\": %.2f}\n", rate, loop.p50(seconds));
}
