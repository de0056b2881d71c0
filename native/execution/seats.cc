#include "seats.h"

#include <algorithm>

namespace nt::execution {

Seat& Seats::add(int lane) {
  while (lanes_.size() <= static_cast<std::size_t>(lane)) lanes_.emplace_back();
  auto seat = std::make_unique<Seat>();
  seat->lane = lane;
  seat->beginning = &at(lane).beginning;
  for (const auto& other : all_) seat->slot += other->lane == lane ? 1 : 0;
  all_.push_back(std::move(seat));
  ++at(lane).coming;
  ++coming_;
  return *all_.back();
}

void Seats::take(Seat& seat, Seat::Owner owner, TimePoint now) {
  seat.owner = owner;
  Lane& lane = at(seat.lane);
  ++lane.taken;
  ++lane.beginning;
  lane.begun = now;
  if (owner == Seat::Owner::thread) move(seat, Seat::Place::away);
  if (owner == Seat::Owner::caller) lane.brief = false;  // what he runs need not be like the last batches
}

void Seats::giveBack(Seat& seat) {
  Lane& lane = at(seat.lane);
  --lane.taken;
  if (seat.owner == Seat::Owner::thread) {
    lane.brief = seat.brief;
    move(seat, Seat::Place::coming);
  }
  seat.owner = Seat::Owner::nobody;
}

void Seats::move(Seat& seat, Seat::Place place) {
  const auto count = [&](int by) {
    if (seat.place == Seat::Place::parked) parked_ += by;
    if (seat.place != Seat::Place::coming) return;
    coming_ += by;
    at(seat.lane).coming += by;
  };
  count(-1);
  seat.place = place;
  count(1);
}

int Seats::idle(int except) const {
  int idle = 0;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
    idle += lanes_[lane].taken == 0 && static_cast<int>(lane) != except ? 1 : 0;
  return idle;
}

bool Seats::anyForgotten() const {
  return std::ranges::any_of(lanes_, [](const Lane& lane) { return lane.taken == 0 && lane.coming == 0; });
}

bool Seats::occupied(int lane, TimePoint now) const {
  // one that should be over by now takes longer than was thought
  constexpr std::chrono::microseconds kMost{100};
  return at(lane).beginning > 0 || (at(lane).brief && now - at(lane).begun < kMost);
}

Seat* Seats::toCall(TimePoint now) const {
  Seat* best = nullptr;
  for (const auto& seat : all_) {
    if (seat->place != Seat::Place::parked || seat->owner != Seat::Owner::nobody) continue;
    if (best != nullptr && load(*best) <= load(*seat)) continue;
    if (load(*seat) > 0 && occupied(seat->lane, now)) continue;
    best = seat.get();
  }
  return best;
}

Seat* Seats::toLend() const {
  Seat* best = nullptr;
  // rather one for which nobody comes
  const auto cost = [this](const Seat& seat) { return 2 * load(seat) + (seat.place == Seat::Place::coming ? 1 : 0); };
  for (const auto& seat : all_) {
    if (seat->owner != Seat::Owner::nobody) continue;
    if (best == nullptr || cost(*seat) < cost(*best)) best = seat.get();
  }
  return best;
}

}  // namespace nt::execution
