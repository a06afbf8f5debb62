internal import SluiceModel
internal import Synchronization

/// Holds what an observer of this process was not told yet. Any thread may use it; one consumer takes.
///
/// Its life: the results are being read (changes gather behind them), then open, then ended. While the consumer is busy,
/// changes of one origin gather into one, so what waits grows with the objects that changed and not with the commits.
package final class ChangeInbox: Sendable {
    /// How many changes wait before they are gathered into two, one of each origin.
    private static let waitingCountMax = 8

    /// What ``take()`` has found.
    package enum Taken: Sendable {
        case change(ObservedChange)
        /// Nothing now.
        case nothing
        /// Nothing any more; the error says why, unless the observer ended it.
        case ended(ServerError?)
    }

    private struct State {
        var isReading = true
        var waiting: [ObservedChange] = []
        var end: ServerError??
        var wake: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    package init() {}

    /// Calls `wake` whenever there may be something to take, from any thread, and now.
    package func onArrival(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wake = wake }
        wake()
    }

    /// Begins with the results that there were.
    func begin(with initial: ObservedChange) {
        change { state in
            state.isReading = false
            state.waiting.insert(initial, at: 0)
        }
    }

    /// Whether a change of what the query computes waits to be taken. A further one is then told as a whole, so that what
    /// waits does not grow with the groups that come and go.
    var hasWaitingFigures: Bool {
        state.withLock { state in state.waiting.contains { !$0.isInitial && $0.figures != nil } }
    }

    /// Adds what a commit changed.
    func add(_ change: ObservedChange) {
        self.change { state in
            guard state.end == nil else { return }
            if let last = state.waiting.indices.last, !state.waiting[last].isInitial,
                state.waiting[last].isOwn == change.isOwn
            {
                state.waiting[last].append(change)
            } else {
                state.waiting.append(change)
            }
            // The first event is told apart from what follows it.
            let first = state.waiting.first?.isInitial == true ? 1 : 0
            if state.waiting.count - first > Self.waitingCountMax { Self.gather(&state.waiting, from: first) }
        }
    }

    /// Ends the observation; what waits can still be taken.
    ///
    /// - Parameter error: why, if the observer did not ask for it.
    package func finish(_ error: ServerError?) {
        change { state in
            guard state.end == nil else { return }
            state.isReading = false
            state.end = .some(error)
        }
    }

    /// Takes the next change.
    package func take() -> Taken {
        state.withLock { state in
            guard !state.isReading else { return .nothing }
            while !state.waiting.isEmpty {
                let change = state.waiting.removeFirst()
                if change.isInitial || !change.isEmpty { return .change(change) }
            }
            return state.end.map { .ended($0) } ?? .nothing
        }
    }

    /// Whether there may be something to take.
    package var hasContent: Bool {
        state.withLock { !$0.isReading && (!$0.waiting.isEmpty || $0.end != nil) }
    }

    private func change(_ body: (inout State) -> Void) {
        let wake = state.withLock { state in
            body(&state)
            return state.wake
        }
        wake?()
    }

    /// Gathers changes of both origins into two. An object that both changed belongs to the later, so the order of the
    /// two does not matter to it.
    private static func gather(_ waiting: inout [ObservedChange], from first: Int) {
        var gathered: [ObservedChange] = []
        let total = waiting[first...].lazy.compactMap(\.total).last
        let figures = waiting[first...].lazy.compactMap(\.figures).last
        for change in waiting[first...] {
            let objects = change.objects.map(\.object)
            let place = gathered.firstIndex { $0.isOwn == change.isOwn } ?? gathered.count
            if place == gathered.count {
                gathered.append(
                    ObservedChange(isOwn: change.isOwn, schema: change.schema, version: change.version))
            }
            for other in gathered.indices { gathered[other].adapt(to: change.schema) }
            for other in gathered.indices where other != place {
                for (object, outcome) in gathered[other].giveUp(objects) { gathered[place].add(outcome, of: object) }
            }
            gathered[place].append(change)
        }
        // Whichever of the two comes last must not have an earlier one.
        for place in gathered.indices where gathered[place].total != nil { gathered[place].total = total }
        for place in gathered.indices where gathered[place].figures != nil { gathered[place].figures = figures }
        waiting.replaceSubrange(first..., with: gathered.filter { !$0.isEmpty })
    }
}
