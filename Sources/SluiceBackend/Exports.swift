@_exported public import Sluice
@_exported public import SluiceServer
