internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews

/// Decides which view's digest is sent next to its subscribers in running sessions.
///
/// One view at a time is checked, at most one each second, and each view once in a round of at least a minute. So the
/// check costs a database about the reading of a few thousand rows a second, and a client the reading of one
/// subscription a minute, while a divergence is found within minutes. To find the view that is due costs the same
/// however many views there are.
///
/// A round goes through the views by their numbers, which they keep. So whatever views come and go, no other view loses
/// its turn or has two.
struct DigestRounds {
    /// The maximum number of views that one turn looks at.
    static let lookCountMax = 64
    /// The maximum number of numbers that one turn passes, most of which may be free.
    static let numberCountMax = 1_024

    /// The time between two digests, and between two rounds, in microseconds.
    private let interval: Int64
    private let roundTime: Int64
    /// The views with lower numbers had their turn in the present round.
    private var position = 0
    private var isRoundOver = true
    private var nextAt: Int64 = .min
    private var nextRoundAt: Int64 = .min

    init(interval: Int64, roundTime: Int64) {
        self.interval = interval
        self.roundTime = roundTime
    }

    /// The view that is due now; nil if there is none, or if others have to be looked at first.
    ///
    /// - Parameters:
    ///   - views: the views by number; nil for a free number.
    ///   - isReady: whether a view has a digest that some session can compare.
    mutating func next(
        now: Timestamp, among views: [SharedView?], where isReady: (SharedView) -> Bool
    ) -> SharedView? {
        guard now.microseconds >= nextAt else { return nil }
        if isRoundOver {
            guard now.microseconds >= nextRoundAt else { return nil }
            nextRoundAt = now.microseconds + roundTime
            position = 0
        }
        defer { isRoundOver = position >= views.count }
        let end = min(views.count, position + Self.numberCountMax)
        var lookCount = 0
        while position < end, lookCount < Self.lookCountMax {
            defer { position += 1 }
            guard let view = views[position] else { continue }
            lookCount += 1
            guard isReady(view) else { continue }
            nextAt = now.microseconds + interval
            return view
        }
        return nil
    }
}
