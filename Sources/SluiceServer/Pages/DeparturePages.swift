internal import SluiceModel
internal import SluiceWire

/// The departures of what several readers lose together, in pages that are encoded once for all of them.
final class DeparturePages {
    struct Page {
        let block: SharedBlock
        let objects: [ObjectRef]
    }

    let pages: [Page]
    /// How many objects leave.
    let count: Int

    /// - Parameters:
    ///   - objects: what leaves, which is there and may not be read any more.
    ///   - pageRowCount: the number of objects in a page.
    init(_ objects: [ObjectRef], pageRowCount: Int) {
        count = objects.count
        pages = stride(from: 0, to: objects.count, by: pageRowCount).map { start in
            let part = Array(objects[start..<min(objects.count, start + pageRowCount)])
            return Page(block: SharedBlock(Self.block(of: part)), objects: part)
        }
    }

    private static func block(of objects: some Sequence<ObjectRef>) -> ViewBlock {
        var block = ViewBlock()
        for object in objects { block.append(.init(object, role: .root, reason: .permission)) }
        return block
    }

    /// A page without some objects.
    ///
    /// - Returns: the page as it is encoded already if it has none of them.
    func page(_ position: Int, without isKept: (ObjectRef) -> Bool) -> (page: EncodedPage, isShared: Bool) {
        let page = pages[position]
        let progress = Double(position) / Double(pages.count)
        let leaving = page.objects.filter { !isKept($0) }
        guard leaving.count < page.objects.count else {
            return (EncodedPage(page.block, isEmpty: false, progress: progress), true)
        }
        return (EncodedPage(Self.block(of: leaving), progress: progress), false)
    }
}
