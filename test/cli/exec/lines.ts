/** The lines of the mission's sources, letter by letter. */
export const lines = {
  int8: '--onnx=model.onnx --explicitBatch --saveEngine=model.plan --minShapes=input:1x3x512x512 --optShapes=input:1x3x512x512 --maxShapes=input:1x3x512x512 --int8 --verbose',
  fp16: '--onnx=resnet50.onnx --saveEngine=model.plan --explicitBatch --minShapes=input:1x3x224x224 --optShapes=input:1x3x224x224 --maxShapes=input:256x3x224x224 --fp16',
}
