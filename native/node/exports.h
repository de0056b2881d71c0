// What each file of this folder gives to JavaScript.
#pragma once

#include <napi.h>

namespace nt::node {

void exportTables(Napi::Env env, Napi::Object exports);
void exportSystem(Napi::Env env, Napi::Object exports);
void exportCpu(Napi::Env env, Napi::Object exports);
void exportBuild(Napi::Env env, Napi::Object exports);
void exportCompletions(Napi::Env env, Napi::Object exports);
void exportEngine(Napi::Env env, Napi::Object exports);
void exportDeviceTensors(Napi::Env env, Napi::Object exports);
void exportFileLock(Napi::Env env, Napi::Object exports);
void exportFrames(Napi::Env env, Napi::Object exports);
void exportRefit(Napi::Env env, Napi::Object exports);
void exportMemory(Napi::Env env, Napi::Object exports);
void exportModel(Napi::Env env, Napi::Object exports);
void exportLog(Napi::Env env, Napi::Object exports);
void exportStrokes(Napi::Env env, Napi::Object exports);
void exportVisionTensor(Napi::Env env, Napi::Object exports);
void exportVisionCandidates(Napi::Env env, Napi::Object exports);
void exportVisionMasks(Napi::Env env, Napi::Object exports);

}  // namespace nt::node
