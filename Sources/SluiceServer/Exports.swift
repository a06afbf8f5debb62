@_exported public import SluiceModel
