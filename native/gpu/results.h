// Where the results of a batch lie on the host. A large one has memory of its own, pinned while there is some, so that
// whoever keeps it keeps nothing else; small ones come by way of the slot's memory, and requests get copies.
#pragma once

#include <memory>
#include <vector>

#include "../execution/lane.h"
#include "engine.h"
#include "staging.h"

namespace nt::gpu {

using execution::Batch;
using execution::Completion;
using execution::Output;
using execution::Part;
using execution::Target;

class Results {
 public:
  Results(const Engine& engine, const execution::LaneOptions& options);

  // Of a new batch: the outputs have these shapes, where -1 means that the size depends on the data. Throws
  // ERR_TRT_EXECUTION where a batch of several rows does not have a row of each.
  void begin(std::shared_ptr<const Batch> batch, const std::vector<Shape>& shapes, int64_t rows);
  // Makes places for those whose size is known.
  void reserve();
  void end() noexcept;

  std::size_t count() const noexcept { return results_.size(); }
  bool dependent(std::size_t output) const noexcept { return results_[output].dependent; }
  // Bytes on the device, padding and all; 0 where that is not known yet.
  std::size_t deviceBytes(std::size_t output) const;
  // Of a host tensor, which the library writes itself.
  void* hostAddress(std::size_t output) const { return results_[output].staged; }
  // The shape of an output of which it was not known; then place() makes places for it.
  void learn(std::size_t output, const Shape& shape);
  void place(std::size_t output);
  // Once its shape is known.
  std::size_t partBytes(std::size_t output, const Part& part) const;

  void copyOut(std::size_t output, cuda::DevicePtr from, const cuda::OwnedStream& stream) const;
  // What TensorRT wrote on the host goes to the device where a request has it stay.
  void copyOutHostTensor(std::size_t output, const cuda::OwnedStream& stream) const;
  // Adds a request's results to its completion; everything has been copied out. Throws ERR_TRT_SHAPE where a target
  // does not fit.
  void complete(Completion& completion, const Part& part) const;

 private:
  // A request's part of an output.
  struct Place {
    uint8_t* data = nullptr;           // null: the request does not want it, or named a target
    std::shared_ptr<HostBlock> block;  // null: in the slot's memory
  };
  // One output of the batch under way.
  struct Result {
    Shape shape;
    std::size_t rowBytes = 0;  // of one row where requests merge, else of the whole tensor
    bool dependent = false;
    uint8_t* staged = nullptr;         // all rows together
    std::shared_ptr<HostBlock> block;  // has `staged`, where the slot's memory has no room
    std::vector<Place> places;         // else: by request
  };
  void measure(Result& result, std::size_t output) const;
  bool isNeeded(std::size_t output) const;
  bool isTogether(std::size_t output) const;
  std::size_t wholeBytes(std::size_t output) const;
  std::size_t takeOwn(std::size_t output);
  void takeStaged(std::size_t output);
  const uint8_t* dataOf(std::size_t output, const Part& part, const std::shared_ptr<HostBlock>*& block) const;
  std::shared_ptr<HostBlock> memoryForCopies(const Part& part) const;

  const Engine& engine_;
  const bool merging_;
  const std::shared_ptr<HostRing> ring_;
  Staging staging_;
  std::shared_ptr<const Batch> batch_;
  int64_t rows_ = 0;  // of the batch, padding and all
  std::vector<Result> results_;
};

}  // namespace nt::gpu
