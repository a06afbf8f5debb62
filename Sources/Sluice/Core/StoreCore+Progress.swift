extension StoreCore {
    /// How far a transfer has come. The first value comes once no transaction is open.
    func progress(
        _ direction: SyncProgress.Direction, _ extent: SyncProgress.Extent
    ) -> EventSource<SyncProgress> {
        EventSource { [weak self] in
            let listener = EventListener<SyncProgress>.ofNewest
            let watch = RegistrationNumber()
            do {
                guard let self else { throw StoreError(.closed, "the store was closed") }
                try performSoon { engine in
                    watch.set(engine.watchProgress(direction, extent, listener))
                } orElse: { _ in
                    listener.finish()
                }
            } catch { listener.finish() }
            return EventMembership(listener) { [weak self] in
                self?.performLater { $0.unwatchProgress(watch.value) }
            }
        }
    }
}
