// What each file of this folder gives to JavaScript.
#pragma once

#include "functions.h"

namespace nt::node {

void exportTables(Napi::Object exports);
void exportSystem(Napi::Object exports);
void exportCpu(Napi::Object exports);
void exportBuild(Napi::Object exports);
void exportCompletions(Napi::Object exports);
void exportEngine(Napi::Object exports);
void exportDeviceTensors(Napi::Object exports);
void exportFileLock(Napi::Object exports);
void exportFrames(Napi::Object exports);
void exportRefit(Napi::Object exports);
void exportModel(Napi::Object exports);
void exportLog(Napi::Object exports);
void exportStrokes(Napi::Object exports);
void exportVisionTensor(Napi::Object exports);
void exportVisionCandidates(Napi::Object exports);
void exportVisionMasks(Napi::Object exports);

}  // namespace nt::node
