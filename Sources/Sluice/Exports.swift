@_exported public import SluiceModel
@_exported public import SluiceQuery
@_exported public import SluiceViews

@_exported public import class SluiceTransport.LoopbackNetwork
