// Runs one batch at a time on the thread that waits for it. Inputs are read where they lie, but for rows in several
// places; an output whose size is not known beforehand stays where onnxruntime put it.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine.h"

namespace nt::cpu {

using execution::Batch;
using execution::Completion;
using execution::Output;
using execution::Part;

class Lane : public execution::Lane {
 public:
  Lane(std::shared_ptr<const Engine> engine, execution::LaneOptions options)
      : Lane(engine, std::move(options), engine->outputs().size()) {}
  ~Lane() override { --live().lanes; }

  int slots() const noexcept override { return 1; }
  // Throws ERR_TRT_SHAPE.
  void enqueue(int slot, std::shared_ptr<Batch> batch) override;
  // Runs it. Throws ERR_TRT_EXECUTION, ERR_TRT_OUT_OF_MEMORY, ERR_TRT_SHAPE, ERR_TRT_DTYPE, and ABORTED where nobody
  // waited.
  std::vector<Completion> finish(int slot, execution::Wait wait) override;
  void abandon(const Batch& batch) noexcept override;
  void abandonAll() noexcept override;

 protected:
  // `outputs`: of the session, where the engine has others.
  Lane(std::shared_ptr<const Engine> engine, execution::LaneOptions options, std::size_t outputs);

  // Memory of ours as onnxruntime has it. What comes at the same place in the same shape is not made again.
  struct Binding {
    onnxruntime::OwnedValue value;
    const void* data = nullptr;
    Shape shape;
    explicit Binding(const onnxruntime::Library& library) : value(library) {}
  };

  // One output of the batch under way.
  struct Result {
    bool bound = false;  // to memory of ours
    Shape shape;
    std::size_t rowBytes = 0;  // of one row where requests merge, else of the whole tensor
    uint8_t* data = nullptr;
    std::shared_ptr<void> owner;  // of `data`; none where it is a request's target, or this lane's own memory
    Binding binding;
    onnxruntime::OwnedValue made;  // by onnxruntime, where it is not bound
    explicit Result(const onnxruntime::Library& library) : binding(library), made(library) {}
  };

  // Before the run, what is asked for; after it, what came of that.
  virtual void bindOutputs();
  virtual void readOutputs();
  // Where onnxruntime put an output that is not bound, and in which shape.
  void read(std::size_t output, const IoTensor& tensor);

  std::vector<Result> results_;
  std::vector<std::size_t> asked_;  // the outputs that are computed, and what of them onnxruntime is told
  std::vector<const char*> askedNames_;
  std::vector<onnxruntime::OrtValue*> got_;

 private:
  void begin(std::shared_ptr<Batch> batch);
  void release() noexcept;
  bool isWhole() const;
  void gather();
  uint8_t* gatheredInput(std::size_t input) const;
  void gatherInput(std::size_t input, uint8_t* to);
  void bindInputs();
  void bindOptionals();
  void give(Binding& binding, const IoTensor& tensor, const Shape& shape, std::span<const uint8_t> bytes);
  void ask(std::size_t output);
  void setShape(std::size_t output, Shape shape);
  void bindToOurs(std::size_t output);
  void bindTo(std::size_t output, const Part& part);
  void bind(std::size_t output, uint8_t* data);
  void make(Binding& binding, const IoTensor& tensor, const Shape& shape, void* data);
  void unbind();
  bool anyBound() const noexcept;
  onnxruntime::OrtStatus* run();
  void runOrFail();
  void learn(std::size_t output);
  void take(std::size_t output);
  void takeTexts(std::size_t output);
  void checkRank(std::size_t output) const;
  void keep(std::size_t output);
  static void clearPadding(const Result& result, DType dtype);
  void checkRows(std::size_t output) const;
  std::size_t partBytes(std::size_t output, const Part& part) const;
  void complete(Completion& completion, const Part& part) const;
  void hand(Output& output, const uint8_t* data, const Result& result) const;
  bool abandoned() const noexcept;
  void terminate() noexcept;
  [[noreturn]] void fail(onnxruntime::OrtStatus* status);

  const std::shared_ptr<const Engine> engine_;
  const onnxruntime::Library& library_;
  const execution::LaneOptions options_;
  onnxruntime::OwnedRunOptions runOptions_;
  std::shared_ptr<HostBlock> small_;  // for results that requests get copies of
  std::size_t smallUsed_ = 0;         // bytes

  bool whole_ = true;  // the batch's rows lie together
  Shapes shapes_;      // of all inputs, padding and all
  execution::TimePoint started_;
  std::shared_ptr<HostBlock> gathered_;  // the batch's rows together, where they were not
  std::vector<std::size_t> gatheredAt_;  // by input
  std::vector<const char*> inputNames_;
  std::vector<Binding> inputs_;
  std::vector<Binding> optionals_;  // that the request gave
  std::vector<const onnxruntime::OrtValue*> given_;
  std::vector<const void*> givenData_;

  // what abandon() looks at
  mutable std::mutex mutex_;
  std::shared_ptr<Batch> batch_;
  bool terminated_ = false;
};

}  // namespace nt::cpu
