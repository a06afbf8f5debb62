/// Where parts of a condition are in the text, in UTF-8 bytes; nil for what was not built from text.
extension PredicateSyntax {
    /// Where the first comparison begins.
    var position: Int? {
        switch self {
        case .constant: return nil
        case .comparison(let comparison): return comparison.left.position ?? comparison.position
        case .not(let operand): return operand.position
        case .and(let operands), .or(let operands):
            for operand in operands { if let position = operand.position { return position } }
            return nil
        }
    }

    /// Where the most deeply nested comparison begins; of several, the first.
    var deepestPosition: Int? {
        var deepest: (depth: Int, position: Int)?
        findDeepest(at: 0, &deepest)
        return deepest?.position
    }

    fileprivate func findDeepest(at depth: Int, _ deepest: inout (depth: Int, position: Int)?) {
        switch self {
        case .constant: break
        case .not(let operand): operand.findDeepest(at: depth + 1, &deepest)
        case .and(let operands), .or(let operands):
            for operand in operands { operand.findDeepest(at: depth + 1, &deepest) }
        case .comparison(let comparison):
            if depth > deepest?.depth ?? -1, let position { deepest = (depth, position) }
            comparison.left.findDeepest(at: depth, &deepest)
            comparison.right.findDeepest(at: depth, &deepest)
        }
    }
}

extension ExpressionSyntax {
    fileprivate func findDeepest(at depth: Int, _ deepest: inout (depth: Int, position: Int)?) {
        switch self {
        case .path, .literal, .list: break
        case .subquery(let subquery): subquery.predicate.findDeepest(at: depth + 1, &deepest)
        case .arithmetic(let arithmetic):
            if depth + 1 > deepest?.depth ?? -1, let position { deepest = (depth + 1, position) }
            arithmetic.left.findDeepest(at: depth + 1, &deepest)
            arithmetic.right.findDeepest(at: depth + 1, &deepest)
        }
    }
}
