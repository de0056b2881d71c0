#include "progress.h"

#include <map>
#include <mutex>

#include "../base/text.h"

namespace nt::tensorrt {

struct ProgressMonitor::State {
  Listener listener;
  Stopped stopped;
  std::mutex mutex;
  std::map<std::string, ProgressEvent> phases;
};

ProgressMonitor::ProgressMonitor(Listener listener, Stopped stopped)
    : Versioned("IProgressMonitor"), state_(new State{std::move(listener), std::move(stopped), {}, {}}) {}

ProgressMonitor::~ProgressMonitor() { delete state_; }

void ProgressMonitor::phaseStart(const char* phase, const char* parent, int32_t steps) noexcept try {
  const std::lock_guard lock(state_->mutex);
  const ProgressEvent event{orEmpty(phase), orEmpty(parent), 0, steps};
  state_->phases[event.phase] = event;
  state_->listener(event);
} catch (...) {
  // progress is news, not work: losing it loses nothing
}

bool ProgressMonitor::stepComplete(const char* phase, int32_t step) noexcept {
  try {
    const std::lock_guard lock(state_->mutex);
    ProgressEvent& event = state_->phases[orEmpty(phase)];
    event.step = step + 1;
    state_->listener(event);
  } catch (...) {  // as above
  }
  return !state_->stopped();
}

void ProgressMonitor::phaseFinish(const char* phase) noexcept try {
  const std::lock_guard lock(state_->mutex);
  state_->phases.erase(orEmpty(phase));
} catch (...) {  // as above
}

}  // namespace nt::tensorrt
