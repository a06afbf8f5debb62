@_exported public import SluiceModel

@_exported public import class SluiceTransport.LoopbackNetwork
