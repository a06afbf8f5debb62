@_exported public import SluiceModel
@_exported public import SluiceQuery
@_exported public import SluiceViews
