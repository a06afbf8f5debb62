internal import Dispatch
internal import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// Accounts that wait after too many wrong passwords, as operators see and unlock them.
extension UserDirectory {
    /// The name that the throttle has for an account.
    static func account(_ name: String) -> String { "user \(name)" }

    /// Stores that the account of a user is locked, if it is, so that an operator sees it. Nothing depends on it.
    func noteLock(of name: String) {
        let time = now()
        guard let lock = throttle.withLock({ $0.lock(of: Self.account(name), now: time) }) else { return }
        locked.withLock { _ = $0.insert(name) }
        queue.async { [store] in
            let lock = UserLock(name: name, until: lock.until.microseconds, failureCount: lock.failureCount)
            try? store.write(about: name) { try $0.note(lock, now: time.microseconds) }
        }
    }

    /// Forgets that the account of a user was locked, since the right password has come.
    func forgetLock(of name: String) {
        guard locked.withLock({ $0.remove(name) }) != nil else { return }
        queue.async { [store] in _ = try? store.write(about: name) { try $0.unlock(name) } }
    }

    /// Takes tries again of accounts that another process has unlocked. ``watch(_:)`` does it by itself.
    package func releaseUnlocked() {
        let names = locked.withLock { $0 }
        guard !names.isEmpty, let locks = try? store.read({ try $0.locks() }) else { return }
        for name in names.subtracting(locks.map(\.name)) { release(name) }
    }

    private func release(_ name: String) {
        locked.withLock { _ = $0.remove(name) }
        throttle.withLock { $0.forget(Self.account(name)) }
    }

    /// Unlocks the account of a user. The waits of addresses stay.
    ///
    /// - Returns: false if it was not locked.
    package func unlock(_ name: String) throws -> Bool {
        let wasLocked = try store.write(about: name) { try $0.unlock(name) }
        release(name)
        return wasLocked
    }
}
