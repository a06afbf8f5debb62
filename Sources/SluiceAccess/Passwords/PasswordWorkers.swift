internal import Dispatch
internal import Synchronization

/// One try to log in by password.
package struct PasswordTry: Sendable {
    /// Whether there is a user of that name.
    package var isUser: Bool
    /// Whether its client still waits.
    package var wait: LoginWait
    /// Whether the password is right. It takes a processor for a while, and may be called twice, also at once.
    package var compare: @Sendable () -> Bool
    /// Takes what became of the try. Called once.
    package var answer: @Sendable (PasswordAnswer) -> Void

    package init(
        isUser: Bool, wait: LoginWait, compare: @escaping @Sendable () -> Bool,
        answer: @escaping @Sendable (PasswordAnswer) -> Void
    ) {
        self.isUser = isUser
        self.wait = wait
        self.compare = compare
        self.answer = answer
    }
}

/// Computes password hashes, two at a time, so that logins cannot take all processors and all memory. What waits is
/// bounded; see ``PasswordQueue``.
package final class PasswordWorkers: Sendable {
    private let inTurn = DispatchQueue(label: "sluice.passwords.turn", qos: .utility)
    private let ahead = DispatchQueue(label: "sluice.passwords.ahead", qos: .utility)
    private let queue: Mutex<PasswordQueue<PasswordTry>>

    /// - Parameter waitingCountMax: the most tries that wait.
    package init(waitingCountMax: Int = 64) { queue = Mutex(PasswordQueue(countMax: waitingCountMax)) }

    /// Has a try made. Any thread may call it; it returns at once.
    package func add(_ attempt: PasswordTry) {
        let (abandoned, displaced) = queue.withLock { queue in
            (queue.removeAll { $0.wait.isOver }, queue.add(attempt, isUser: attempt.isUser))
        }
        for (attempt, answer) in abandoned { attempt.answer(answer) }
        for attempt in displaced { attempt.answer(.displaced) }
        inTurn.async { self.checkNext() }
        if attempt.isUser { ahead.async { self.checkAhead() } }
    }

    private func checkNext() {
        let (abandoned, next) = queue.withLock { queue in (queue.removeAll { $0.wait.isOver }, queue.next()) }
        for (attempt, answer) in abandoned { attempt.answer(answer) }
        guard let next else { return }
        let isRight = next.content.compare()
        if let answer = queue.withLock({ $0.finish(isRight: isRight) }) { next.content.answer(answer) }
    }

    private func checkAhead() {
        guard let next = queue.withLock({ $0.nextAhead() }) else { return }
        let isRight = next.content.compare()
        let answer = queue.withLock { $0.finishAhead(next.ticket, isRight: isRight) }
        if let answer { next.content.answer(answer) }
    }
}
