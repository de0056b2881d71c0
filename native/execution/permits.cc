#include "permits.h"

#include <algorithm>

namespace nt::execution {

Permit& Permits::add(int lane) {
  while (lanes_.size() <= static_cast<std::size_t>(lane)) lanes_.emplace_back();
  auto permit = std::make_unique<Permit>();
  permit->lane = lane;
  permit->beginning = &at(lane).beginning;
  for (const auto& other : all_) permit->slot += other->lane == lane ? 1 : 0;
  all_.push_back(std::move(permit));
  ++at(lane).coming;
  ++coming_;
  return *all_.back();
}

void Permits::take(Permit& permit, Permit::Owner owner, TimePoint now) {
  permit.owner = owner;
  Lane& lane = at(permit.lane);
  ++lane.taken;
  ++lane.beginning;
  lane.begun = now;
  if (owner == Permit::Owner::thread) move(permit, Permit::Place::away);
  if (owner == Permit::Owner::caller) lane.shortBatches = false;  // what he runs need not be like the last batches
}

void Permits::giveBack(Permit& permit) {
  Lane& lane = at(permit.lane);
  --lane.taken;
  if (permit.owner == Permit::Owner::thread) {
    lane.shortBatches = permit.shortBatches;
    move(permit, Permit::Place::coming);
  }
  permit.owner = Permit::Owner::nobody;
}

void Permits::move(Permit& permit, Permit::Place place) {
  const auto count = [&](int by) {
    if (permit.place == Permit::Place::parked) parked_ += by;
    if (permit.place != Permit::Place::coming) return;
    coming_ += by;
    at(permit.lane).coming += by;
  };
  count(-1);
  permit.place = place;
  count(1);
}

int Permits::idle(int except) const {
  int idle = 0;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
    idle += lanes_[lane].taken == 0 && static_cast<int>(lane) != except ? 1 : 0;
  return idle;
}

bool Permits::anyForgotten() const {
  return std::ranges::any_of(lanes_, [](const Lane& lane) { return lane.taken == 0 && lane.coming == 0; });
}

bool Permits::occupied(int lane, TimePoint now) const {
  // one that should be over by now takes longer than was thought
  constexpr std::chrono::microseconds kMost{100};
  return at(lane).beginning > 0 || (at(lane).shortBatches && now - at(lane).begun < kMost);
}

Permit* Permits::toCall(TimePoint now) const {
  Permit* best = nullptr;
  for (const auto& permit : all_) {
    if (permit->place != Permit::Place::parked || permit->owner != Permit::Owner::nobody) continue;
    if (best != nullptr && load(*best) <= load(*permit)) continue;
    if (load(*permit) > 0 && occupied(permit->lane, now)) continue;
    best = permit.get();
  }
  return best;
}

Permit* Permits::toLend() const {
  Permit* best = nullptr;
  // rather one for which nobody comes
  const auto cost = [this](const Permit& permit) {
    return 2 * load(permit) + (permit.place == Permit::Place::coming ? 1 : 0);
  };
  for (const auto& permit : all_) {
    if (permit->owner != Permit::Owner::nobody) continue;
    if (best == nullptr || cost(*permit) < cost(*best)) best = permit.get();
  }
  return best;
}

}  // namespace nt::execution
