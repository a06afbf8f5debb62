internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews

/// Decides which view's digest is sent next to its subscribers in running sessions.
///
/// One view at a time is checked, at most one each second, and each view once in a round of at least a minute. So the
/// check costs a database about the reading of a few thousand rows a second, and a client the reading of one
/// subscription a minute, while a divergence is found within minutes. To find the view that is due costs the same
/// however many views there are.
struct DigestRounds {
    /// The maximum number of views that one turn looks at.
    static let lookCountMax = 64

    /// The time between two digests, and between two rounds, in microseconds.
    private let interval: Int64
    private let roundTime: Int64
    private var views: [SharedView] = []
    /// The views before this position had their turn in the present round.
    private var position = 0
    private var isRoundOver = true
    private var nextAt: Int64 = .min
    private var nextRoundAt: Int64 = .min

    init(interval: Int64, roundTime: Int64) {
        self.interval = interval
        self.roundTime = roundTime
    }

    // MARK: Views

    mutating func insert(_ view: SharedView) {
        view.roundPlace = UInt32(views.count)
        views.append(view)
    }

    /// Removes a view; nothing happens if it was not inserted. O(1), and no other view loses or repeats its turn.
    mutating func remove(_ view: SharedView) {
        let place = Int(view.roundPlace)
        guard place < views.count, views[place] === view else { return }
        var hole = place
        if place < position {
            position -= 1
            move(from: position, to: place)
            hole = position
        }
        move(from: views.count - 1, to: hole)
        views.removeLast()
    }

    private mutating func move(from: Int, to: Int) {
        views[to] = views[from]
        views[to].roundPlace = UInt32(to)
    }

    /// The view that is due now; nil if there is none, or if others have to be looked at first.
    ///
    /// - Parameter isReady: whether a view has a digest that some session can compare.
    mutating func next(now: Timestamp, where isReady: (SharedView) -> Bool) -> SharedView? {
        guard now.microseconds >= nextAt else { return nil }
        if isRoundOver {
            guard now.microseconds >= nextRoundAt else { return nil }
            nextRoundAt = now.microseconds + roundTime
            position = 0
        }
        defer { isRoundOver = position == views.count }
        for _ in 0..<min(Self.lookCountMax, views.count - position) {
            let view = views[position]
            position += 1
            guard isReady(view) else { continue }
            nextAt = now.microseconds + interval
            return view
        }
        return nil
    }
}
