/// Keeps a store open. The store closes when the last lease of it ends.
package final class StoreLease: Sendable {
    package let core: StoreCore

    init(_ core: StoreCore) { self.core = core }

    deinit { StoreRegistry.shared.release(core) }
}
