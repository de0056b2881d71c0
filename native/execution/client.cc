#include "client.h"

namespace nt::execution {

Client::Client(std::shared_ptr<Session> session, Sink sink) : session_(std::move(session)), front_(std::move(sink)) {
  session_->join();
}

Ticket Client::submit(const std::vector<InputView>& inputs, Part part, Scratch& scratch) {
  part.front = &front_;
  return session_->submit(inputs, std::move(part), scratch);
}

Completion Client::run(const std::vector<InputView>& inputs, Part part, Scratch& scratch) {
  part.front = &front_;
  return session_->run(inputs, std::move(part), scratch);
}

void Client::close() {
  const std::lock_guard lock(closing_);
  if (std::exchange(left_, true)) return;
  session_->leave(front_);
}

bool Client::leave(std::chrono::steady_clock::time_point deadline) {
  if (session_->isIdle(front_)) return true;
  drop();
  return session_->awaitEnd(front_, deadline + engine().patienceAtExit());
}

}  // namespace nt::execution
