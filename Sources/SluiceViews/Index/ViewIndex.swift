package import SluiceModel
package import SluiceQuery

/// Finds the views that a commit could concern. The cost grows with the number found and not with the number of views.
///
/// It leaves out no filed view that the commit changes, and may name some that it does not change. After
/// ``LiveView/apply`` the caller files the view anew by ``update``.
///
/// The index stores little for a view, because there may be a million of them: what a view was filed under follows from
/// the view itself.
package final class ViewIndex {
    /// The views by number; nil for a free number.
    private(set) var slots: [LiveView?] = []
    private var free: [UInt64] = []
    let table = FilingTable()
    private(set) var members = MemberTable()
    private var recent = RecentViews()
    /// The schema of the changes; when it grows, positions stay the same.
    package var schema: Schema

    package init(schema: Schema) { self.schema = schema }

    /// How many views have a number.
    package var count: Int { slots.count - free.count }

    /// How many of them are filed.
    package var filedCount: Int { count - unfiledCount }
    private var unfiledCount = 0

    /// Files an active view. The cost grows with the view's conditions and linked objects.
    ///
    /// - Returns: the number of the view, which is free again once the view is removed.
    @discardableResult
    package func insert(_ view: LiveView) -> Int {
        let slot = takeSlot(for: view)
        file(view, slot)
        members.insert(view, slot)
        view.forgetJudge()
        return Int(slot)
    }

    /// Gives a view a number without filing it: whoever asks finds it by its atoms, which are filed. See
    /// ``LiveView/atoms``.
    ///
    /// - Returns: the number of the view, which is free again once the view is removed.
    package func insertUnfiled(_ view: LiveView) -> Int {
        let slot = takeSlot(for: view)
        view.filed = FiledPlace(slot: UInt32(slot), cover: -1, isFiled: false, followsWindow: false)
        unfiledCount += 1
        view.forgetJudge()
        return Int(slot)
    }

    private func takeSlot(for view: LiveView) -> UInt64 {
        view.isRecent = false
        guard let slot = free.popLast() else {
            slots.append(view)
            return UInt64(slots.count - 1)
        }
        slots[Int(slot)] = view
        return slot
    }

    private func file(_ view: LiveView, _ slot: UInt64) {
        view.filedWindowEnd = view.windowEnd
        let filing = Filing(view)
        let cover = table.insert(filing, slot).cover
        view.filed = FiledPlace(
            slot: UInt32(slot), cover: cover.map { Int16($0) } ?? -1,
            followsWindow: cover == nil || cover == filing.windowCover)
    }

    private func unfile(_ view: LiveView, _ place: FiledPlace) {
        let filing = Filing(view)
        table.remove(.init(filing: filing, cover: place.cover < 0 ? nil : Int(place.cover)), UInt64(place.slot))
        view.filed = nil
    }

    /// The place of a view; nil if it has no number here.
    private func place(of view: LiveView) -> FiledPlace? {
        guard let place = view.filed, Int(place.slot) < slots.count, slots[Int(place.slot)] === view else { return nil }
        return place
    }

    /// Removes a view; nothing happens if it has no number here.
    ///
    /// - Returns: the number that the view had; nil if it had none.
    @discardableResult
    package func remove(_ view: LiveView) -> Int? {
        guard let place = place(of: view) else { return nil }
        if place.isFiled {
            unfile(view, place)
            members.remove(view, UInt64(place.slot))
        } else {
            view.filed = nil
            unfiledCount -= 1
        }
        slots[Int(place.slot)] = nil
        free.append(UInt64(place.slot))
        if free.count == slots.count { (slots, free) = ([], []) }
        return Int(place.slot)
    }

    /// Files a view anew after a commit changed what it holds. The cost grows with the linked objects that it has come
    /// to hold or ceased to hold.
    package func update(_ view: LiveView) {
        guard let place = place(of: view) else { return }
        if place.isFiled { members.update(view, UInt64(place.slot)) }
        if place.followsWindow, view.windowEnd != view.filedWindowEnd {
            unfile(view, place)
            file(view, UInt64(place.slot))
        }
        guard !view.isRecent else { return }
        view.isRecent = true
        if let forgotten = recent.note(place.slot), let former = slots[Int(forgotten)] {
            former.isRecent = false
            former.forgetJudge()
        }
    }

    /// The views that the commit could concern, each once, in the order of their numbers.
    ///
    /// - Throws: the errors of `source`.
    package func candidates(
        for commit: CommitDelta, in source: any ObjectSource, before: any ObjectSource
    ) throws -> [LiveView] {
        try numbers(for: commit, in: source, before: before).compactMap { slots[$0] }
    }

    /// The numbers of the views that the commit could concern, each once, ascending.
    ///
    /// - Parameters:
    ///   - source: the state after the commit.
    ///   - before: the state before it.
    /// - Throws: the errors of `source`.
    package func numbers(
        for commit: CommitDelta, in source: any ObjectSource, before: any ObjectSource
    ) throws -> [Int] {
        guard count > 0 else { return [] }
        var found: [UInt64] = []
        try table.forEachCandidate(of: commit, in: source, before: before) { found.append($0) }
        for change in commit.changes {
            func find(_ number: UInt64) {
                if let view = slots[Int(number)], view.shape.isWatching(change) { found.append(number) }
            }
            table.forEachCandidate(of: change, schema: schema, find)
            table.forEachCandidate(of: change, in: source, before: before, find)
            try table.forEachLinking(to: change, of: commit, in: source, before: before, find)
            try members.forEachCandidate(of: change, schema: schema, in: source, find)
        }
        if found.count > 1 { found.sort() }
        var numbers: [Int] = []
        numbers.reserveCapacity(found.count)
        for number in found where numbers.last != Int(number) { numbers.append(Int(number)) }
        return numbers
    }
}

/// The views that were evaluated lately, which keep their evaluators. All others make theirs when they need it.
struct RecentViews {
    static let countMax = 4_096

    private var numbers: [UInt32] = []
    private var next = 0

    /// Notes the number of a view that is not among them. A number that another view had before may be here twice.
    ///
    /// - Returns: the number that is no longer among them, which nobody may have any more.
    mutating func note(_ number: UInt32) -> UInt32? {
        guard numbers.count == Self.countMax else {
            numbers.append(number)
            return nil
        }
        let forgotten = numbers[next]
        numbers[next] = number
        next = (next + 1) % Self.countMax
        return forgotten
    }
}
