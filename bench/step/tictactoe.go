package main

import "strings"

// playTicTacToe plays X as well as it can be played.
func playTicTacToe(p *play) {
	for p.ok() {
		p.snapshot()
		cells := p.clickables()
		if len(cells) < 9 {
			if p.ok() {
				p.fail("the board shows %d cells", len(cells))
			}
			return
		}
		cells = cells[:9]
		var board [9]int
		for i, n := range cells {
			switch class := p.appearance(n).class; {
			case strings.Contains(class, "mark-x"):
				board[i] = 1
			case strings.Contains(class, "mark-o"):
				board[i] = -1
			}
		}
		_, move := best(board, 1)
		if move < 0 {
			return
		}
		p.click(cells[move])
	}
}

// answer is where O goes who looks: three in a row, or else in the way of X; -1
// where there is neither.
func answer(board [9]int) int {
	for _, want := range []int{-2, 2} {
		for _, r := range rowsOfThree {
			if board[r[0]]+board[r[1]]+board[r[2]] != want {
				continue
			}
			for _, i := range r {
				if board[i] == 0 {
					return i
				}
			}
		}
	}
	return -1
}

var rowsOfThree = [][3]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}}

// best returns the value of a position for X against one who errs half the
// time, and the move to make; a draw counts as lost.
func best(board [9]int, turn int) (float64, int) {
	for _, r := range rowsOfThree {
		if s := board[r[0]] + board[r[1]] + board[r[2]]; s == 3 {
			return 1, -1
		} else if s == -3 {
			return 0, -1
		}
	}
	value, move, sum, n := -1.0, -1, 0.0, 0
	low := 0.0
	for i, v := range board {
		if v != 0 {
			continue
		}
		next := board
		next[i] = turn
		got, _ := best(next, -turn)
		if turn == 1 && got > value {
			value, move = got, i
		}
		sum += got
		n++
	}
	switch {
	case n == 0:
		return 0, -1
	case turn == 1:
		return value, move
	}
	reply := board
	if i := answer(board); i >= 0 {
		reply[i] = -1
		low, _ = best(reply, 1)
		return 0.55*sum/float64(n) + 0.45*low, -1
	}
	return sum / float64(n), -1
}
