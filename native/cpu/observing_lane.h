// A lane of an engine that is observed: all that is counted is asked for, none of it in memory of ours, and all of it
// is let go of once it was counted. No request gets any.
#pragma once

#include "lane.h"
#include "observer.h"

namespace nt::cpu {

class ObservingLane final : public Lane {
 public:
  ObservingLane(std::shared_ptr<const Engine> engine, execution::LaneOptions options, Observer& observer)
      : Lane(std::move(engine), std::move(options), observer.outputs().size()), observer_(observer) {}

 private:
  void bindOutputs() override;
  void readOutputs() override;

  Observer& observer_;  // the engine's
  const std::unique_ptr<Histogram::Scratch> scratch_ = std::make_unique<Histogram::Scratch>();
};

}  // namespace nt::cpu
