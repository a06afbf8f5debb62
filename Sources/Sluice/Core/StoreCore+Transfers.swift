extension StoreCore {
    /// The objects that travel from now on.
    var transferSource: EventSource<ObjectTransfer> { EventSource { [transfers] in transfers.listen() } }
}
