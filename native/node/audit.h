// Audits as JavaScript sees them.
#pragma once

#include <napi.h>

#include "../building/audit.h"

namespace nt::node {

Napi::Object auditValue(Napi::Env env, const building::NetworkAudit& audit);

// audit(options): { promise, cancel() }, a function of the engine's object.
Napi::Value audit(const Napi::CallbackInfo& info);

}  // namespace nt::node
