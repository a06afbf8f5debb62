import SluiceModel

/// Finds the views that a commit could concern.
///
/// Views are filed under every class whose changes may concern them: of their roots, on their paths, and linked.
package struct ViewIndex {
    private var viewsByClass: [Int: [LiveView]] = [:]
    /// How many views are filed.
    package private(set) var count = 0

    package init() {}

    /// Files a view. Costs O(classes that concern it).
    package mutating func insert(_ view: LiveView) {
        for classIndex in view.concernedProperties.keys { viewsByClass[classIndex, default: []].append(view) }
        count += 1
    }

    /// Takes a view out again; nothing happens if it is not filed.
    package mutating func remove(_ view: LiveView) {
        var isFiled = false
        for classIndex in view.concernedProperties.keys {
            guard let index = viewsByClass[classIndex]?.firstIndex(where: { $0 === view }) else { continue }
            viewsByClass[classIndex]?.remove(at: index)
            isFiled = true
        }
        if isFiled { count -= 1 }
    }

    /// The views that the commit could concern, each once, in the order of filing within a class.
    package func candidates(for commit: CommitDelta) -> [LiveView] {
        var seen: Set<ObjectIdentifier> = []
        var views: [LiveView] = []
        for classIndex in commit.classes.sorted() {
            for view in viewsByClass[classIndex] ?? [] where seen.insert(ObjectIdentifier(view)).inserted {
                if view.concerns(commit) { views.append(view) }
            }
        }
        return views
    }
}
