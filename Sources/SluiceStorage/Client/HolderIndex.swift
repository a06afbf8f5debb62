/// Finds the subscriptions that may have an object among their members, without asking each of them.
///
/// Only the writer uses it. The members of a small subscription are filed by row. A large subscription is a candidate
/// for every row, since there are few of them. Candidates are a superset: callers check them with the bitmaps of
/// ``Memberships``, which are the authority. So a member that is removed stays filed until the commit, and a rollback
/// only has to forget the planned removals.
struct HolderIndex {
    private struct Place: Hashable {
        let classIndex: Int
        let row: Int64
    }

    /// The most members of a small subscription.
    private static let smallCountMax = 256

    private var holders: [Place: Set<UInt64>] = [:]
    private var members: [UInt64: Set<Place>] = [:]
    /// The subscriptions with more members, which are not filed.
    private(set) var large: Set<UInt64> = []
    /// The members that the open transaction has removed.
    private var departed: [(place: Place, subscription: UInt64)] = []
    /// The large subscriptions that lost members in the open transaction, possibly all of them.
    private var reduced: Set<UInt64> = []

    init(_ memberships: Memberships) {
        memberships.forEachRow { place, row in
            insert(row, ofClass: place.classIndex, subscription: place.subscription)
        }
    }

    /// Files a member, staged or not.
    mutating func insert(_ row: Int64, ofClass classIndex: Int, subscription: UInt64) {
        guard !large.contains(subscription) else { return }
        let place = Place(classIndex: classIndex, row: row)
        guard members[subscription, default: []].insert(place).inserted else { return }
        if members[subscription]?.count ?? 0 > Self.smallCountMax {
            for place in members.removeValue(forKey: subscription) ?? [] where holders[place] != nil {
                unfile(place, subscription)
            }
            large.insert(subscription)
        } else {
            holders[place, default: []].insert(subscription)
        }
    }

    /// Notes that a subscription may have lost a member; ``commit(_:)`` removes it from the index.
    mutating func noteDeparture(_ row: Int64, ofClass classIndex: Int, subscription: UInt64) {
        guard !large.contains(subscription) else { return }
        departed.append((Place(classIndex: classIndex, row: row), subscription))
    }

    /// Notes that a subscription may have lost any of its members.
    mutating func noteDepartures(subscription: UInt64) {
        if large.contains(subscription) { reduced.insert(subscription) }
        for place in members[subscription] ?? [] { departed.append((place, subscription)) }
    }

    /// Removes the members that a transaction has removed, once it is committed.
    ///
    /// - Parameter memberships: the memberships after the commit.
    mutating func commit(_ memberships: Memberships) {
        for (place, subscription) in departed
        where !memberships.holds(place.row, classIndex: place.classIndex, subscription: subscription) {
            unfile(place, subscription)
            members[subscription]?.remove(place)
            if members[subscription]?.isEmpty ?? false { members[subscription] = nil }
        }
        for subscription in reduced where memberships.bitmaps[subscription] == nil { large.remove(subscription) }
        rollBack()
    }

    /// Forgets the removals of the open transaction.
    mutating func rollBack() {
        departed = []
        reduced = []
    }

    /// The subscriptions that may have a row as member or staged member, each once, in no particular order.
    func candidates(_ row: Int64, ofClass classIndex: Int) -> some Sequence<UInt64> {
        [holders[Place(classIndex: classIndex, row: row)] ?? [], large].lazy.joined()
    }

    private mutating func unfile(_ place: Place, _ subscription: UInt64) {
        holders[place]?.remove(subscription)
        if holders[place]?.isEmpty ?? false { holders[place] = nil }
    }
}
