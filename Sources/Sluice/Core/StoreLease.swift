/// Keeps a store open. The store closes when the last hold on it is released.
package final class StoreLease: Sendable {
    package let core: StoreCore

    init(_ core: StoreCore) { self.core = core }

    deinit { StoreRegistry.shared.release(core) }
}
